// Ops that fused into nothing: kernels of their own, their results in the workspace or in the caller's buffer.
// RUN: pagefold-opt %s --attn-to-tile | FileCheck %s

!q = tensor<?x2x64xf32>
!cache = !attn.paged_kv<2 heads, 64 x 64, f32, page 16>
#id = affine_map<(t, h, d) -> (t, h, d)>

// A rope by the cache's positions needs the batch; its result lies in the workspace: batch x q_len x 2 x 64 x 4 bytes.
// CHECK-LABEL: func.func @rope(
// CHECK: %[[KV:.*]] = tile.paged %arg1, %arg2
// CHECK: %[[T:.*]] = memref.dim %arg0
// CHECK: %[[PLACE:.*]] = tile.workspace(%[[T]]) bytes 32768 : memref<?x2x64xf32>
// CHECK: %[[BATCH:.*]] = tile.batch rows(%{{.*}}) of %[[KV]] tokens(%arg0) positions(
// CHECK: tile.rows %arg0 into %[[PLACE]] of %[[BATCH]] {
// CHECK: ^bb0(%[[ROW:.*]]: !tile.tile<q x 64, f32>):
// CHECK:   tile.rope %[[ROW]], %arg6, %arg6 half_split
// CHECK: tile.load_q %[[PLACE]]
func.func @rope(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %cos: tensor<?x32xf32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %r = attn.rope %q, %cos, %cos rows(%rows) of %cache half_split : !q, tensor<?x32xf32>, tensor<?xi32>, !cache
  %o = attn.attention %r, %cache rows(%rows) scale 0.125 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// Positions of the caller's need no batch; a returned value is written straight into its buffer.
// CHECK-LABEL: func.func @positions(
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>)
// CHECK-NOT: tile.workspace
// CHECK: tile.rows %arg0 into %[[OUT]] {
// CHECK:   tile.rope %{{.*}}, %arg1, %arg1 positions(%arg2 : memref<?xi64, strided<[1], offset: ?>>) interleaved
func.func @positions(%q: !q, %cos: tensor<?x32xf32>, %positions: tensor<?xi64>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %r = attn.rope %q, %cos, %cos positions(%positions) interleaved : !q, tensor<?x32xf32>, tensor<?xi64>
  return %r : !q
}

// CHECK-LABEL: func.func @norm_then_elementwise(
// CHECK-SAME: name = "arg2", shape = ["tokens", 2, 64]
func.func @norm_then_elementwise(%q: !q, %w: tensor<64xf32>, %gate: !q) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512, tokens 8>} {
  // CHECK: %[[PLACE:.*]] = tile.workspace(%{{.*}}) bytes 4096 : memref<?x2x64xf32>
  // CHECK: tile.rows %arg0 into %[[PLACE]] {
  // CHECK:   tile.rms_norm %{{.*}}, %arg1 eps
  %n = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<64xf32>
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %q, %zero : !q
  %empty = tensor.empty(%tokens) : !q
  // A constant from around the body comes along.
  %half = arith.constant 0.5 : f32
  // CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK: linalg.generic {{.*}} ins(%[[PLACE]], %arg2 : {{.*}}) outs(%arg3 :
  // CHECK:   %[[M:.*]] = arith.mulf
  // CHECK:   arith.mulf %[[M]], %[[HALF]]
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n, %gate : !q, !q) outs(%empty : !q) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %m = arith.mulf %a, %b : f32
      %n2 = arith.mulf %m, %half : f32
      linalg.yield %n2 : f32
    } -> !q
  return %y : !q
}

// CHECK-LABEL: func.func @merge(
// CHECK: tile.merge(%arg0, %arg1), (%arg2, %arg3) into %arg4, %arg5 :
func.func @merge(%a: !q, %la: tensor<?x2xf32>, %b: !q, %lb: tensor<?x2xf32>) -> (!q, tensor<?x2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o, %l = attn.merge (%a, %la), (%b, %lb) : !q, tensor<?x2xf32>
  return %o, %l : !q, tensor<?x2xf32>
}
