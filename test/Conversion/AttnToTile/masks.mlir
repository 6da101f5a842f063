// What a mask binds: symbols, row values, a bitmap; and sinks.
// RUN: pagefold-opt %s --attn-to-tile | FileCheck %s

!q = tensor<?x2x64xf32>

// CHECK-LABEL: func.func @symbols(
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg2", scalar, shape = []}
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg3", shape = ["batch"]}
// CHECK: tile.mask {{.*}} symbols(%arg2, %arg3 : i32, memref<?xi32, strided<[1], offset: ?>>)
func.func @symbols(%q: !q, %rows: tensor<?xi32>, %w: i32, %p: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    mask <window(w) or prefix(p) where w >= 1, p> symbols(%w : i32, %p : tensor<?xi32>)
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @row_values(
// CHECK-SAME: name = "arg2", shape = ["tokens"]
// CHECK: tile.mask {{.*}} row_values(%arg2 : memref<?xi32, strided<[1], offset: ?>>)
func.func @row_values(%q: !q, %rows: tensor<?xi32>, %starts: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    mask <causal and k >= doc where doc per_row> row_values(%starts : tensor<?xi32>)
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @bitmap(
// CHECK-SAME: {access = "read", dtype = "i8", name = "arg2", shape = [unit]}
// CHECK-SAME: {access = "read", dtype = "i64", name = "arg3", shape = ["batch"]}
// CHECK: tile.mask {{.*}} bitmap(%arg2, %arg3 : memref<?xi8, strided<[1], offset: ?>>, memref<?xi64, strided<[1], offset: ?>>)
func.func @bitmap(%q: !q, %rows: tensor<?xi32>, %bits: tensor<?xi8>, %starts: tensor<?xi64>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125
    bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// CHECK-LABEL: func.func @sinks(
// CHECK: tile.finish %{{.*}} at %{{.*}} into %arg3 sinks(%arg2 : memref<2xf32, strided<[1], offset: ?>>)
func.func @sinks(%q: !q, %rows: tensor<?xi32>, %sinks: tensor<2xf32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125 sinks(%sinks : tensor<2xf32>)
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
