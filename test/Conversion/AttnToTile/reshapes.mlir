// Reshapes are views. What is reshaped is contiguous, which the launch plan says.
// RUN: pagefold-opt %s --attn-to-tile | FileCheck %s

!q = tensor<?x2x64xf32>

// The attention writes through a view of the caller's buffer.
// CHECK-LABEL: func.func @of_a_result(
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x128xf32>)
// CHECK-SAME: {access = "write", contiguous, dtype = "f32", name = "out0", shape = ["tokens", 128]}
// CHECK: %[[VIEW:.*]] = memref.expand_shape %[[OUT]] {{\[\[}}0], [1, 2]] output_shape [%{{.*}}, 2, 64] : memref<?x128xf32> into memref<?x2x64xf32>
// CHECK: tile.finish %{{.*}} at %{{.*}} into %[[VIEW]]
// CHECK-NOT: linalg.generic
func.func @of_a_result(%q: !q, %rows: tensor<?xi32>) -> tensor<?x128xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %r = tensor.collapse_shape %o [[0], [1, 2]] : !q into tensor<?x128xf32>
  return %r : tensor<?x128xf32>
}

// CHECK-LABEL: func.func @of_an_argument(
// CHECK-SAME: %[[FLAT:[^:]*]]: memref<?x128xf32>,
// CHECK-SAME: {access = "read", contiguous, dtype = "f32", name = "arg0", shape = [unit, 128]}
// CHECK: %[[Q:.*]] = memref.expand_shape %[[FLAT]] {{\[\[}}0], [1, 2]]
// CHECK: tile.load_q %[[Q]]
func.func @of_an_argument(%flat: tensor<?x128xf32>, %k: !q, %rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %flat, %zero : tensor<?x128xf32>
  %q = tensor.expand_shape %flat [[0], [1, 2]] output_shape [%tokens, 2, 64] : tensor<?x128xf32> into !q
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// Both shapes returned: one is written, the other is a copy of it.
// CHECK-LABEL: func.func @both_returned(
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x2x64xf32>, %[[FLAT:[^:]*]]: memref<?x128xf32>)
// CHECK: tile.finish %{{.*}} at %{{.*}} into %[[OUT]]
// CHECK: %[[VIEW:.*]] = memref.collapse_shape %[[OUT]]
// CHECK: linalg.generic {{.*}} ins(%[[VIEW]] : memref<?x128xf32>) outs(%[[FLAT]] : memref<?x128xf32>)
func.func @both_returned(%q: !q, %rows: tensor<?xi32>) -> (!q, tensor<?x128xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %r = tensor.collapse_shape %o [[0], [1, 2]] : !q into tensor<?x128xf32>
  return %o, %r : !q, tensor<?x128xf32>
}
