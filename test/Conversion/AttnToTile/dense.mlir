// Dense keys and values: buffers of any strides, results as trailing arguments, the standard form over all keys.
// RUN: pagefold-opt %s --attn-to-tile | FileCheck %s

// CHECK-LABEL: func.func @dense(
// CHECK-SAME: %[[Q:.*]]: memref<?x8x64xf32, strided<[?, ?, 1], offset: ?>>, %[[K:.*]]: memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>,
// CHECK-SAME: %[[V:.*]]: memref<?x2x32xf32, {{[^,]*, [^,]*, [^,]*, [^%]*}} %[[ROWS:.*]]: memref<?xi32, strided<[1], offset: ?>>, %[[KV_ROWS:.*]]: memref<?xi32, strided<[1], offset: ?>>,
// CHECK-SAME: %[[OUT:.*]]: memref<?x8x32xf32, strided<[?, ?, 1], offset: ?>>, %[[LSE:.*]]: memref<?x8xf32, strided<[?, 1], offset: ?>>)
// CHECK-SAME: attn.bounds = #attn.bounds<batch 4, q_len 128, kv_len 512>
// CHECK-SAME: {access = "read", dtype = "f32", name = "q", shape = ["tokens", 8, 64]}
// CHECK-SAME: {access = "read", dtype = "f32", name = "arg1", shape = ["kv_tokens", 2, 64]}
// CHECK-SAME: {access = "read", dtype = "i32", name = "arg3", shape = ["batch+1"]}
// CHECK-SAME: {access = "write", dtype = "f32", name = "out0", shape = ["tokens", 8, 32]}
// CHECK-SAME: {access = "write", dtype = "f32", name = "out1", shape = ["tokens", 8]}
// CHECK: %[[KV:.*]] = tile.dense %[[K]], %[[V]] rows(%[[KV_ROWS]]) {{.*}} -> <2 heads, 64 x 32, f32>
// CHECK: %[[BATCH:.*]] = tile.batch rows(%[[ROWS]]) of %[[KV]] tokens(%[[Q]])
// CHECK: %[[MASK:.*]] = tile.mask <"k <= q {{.*}}">
// CHECK: tile.space of %[[BATCH]], %[[KV]] group 4 {
// CHECK: ^bb0(%[[ITEM:.*]]: !tile.item):
// CHECK:   %[[QT:.*]] = tile.load_q %[[Q]] at %[[ITEM]] scale 1.250000e-01 {
// CHECK:   ^bb0(%[[ROW:.*]]: !tile.tile<q x 64, f32>):
// CHECK:     tile.yield %[[ROW]]
// CHECK:   %[[KT:.*]] = tile.load_k %[[KV]] at %[[ITEM]] : {{.*}} -> <all x 64, f32>
// CHECK:   %[[S:.*]] = tile.contract %[[QT]], %[[KT]] : {{.*}} -> <q x all, f32>
// CHECK:   %[[S1:.*]] = tile.map %[[S]] at %[[ITEM]] mask(%[[MASK]]) {
// CHECK:   ^bb0(%[[SCORE:.*]]: f32,
// CHECK:     tile.yield %[[SCORE]]
// CHECK:   %[[P:.*]], %[[ST:.*]] = tile.softmax %[[S1]]
// CHECK:   %[[VT:.*]] = tile.load_v %[[KV]] at %[[ITEM]] : {{.*}} -> <all x 32, f32>
// CHECK:   %[[ACC:.*]] = tile.accumulate %[[P]], %[[VT]] into %[[ST]]
// CHECK:   tile.finish %[[ACC]] at %[[ITEM]] into %[[OUT]] lse(%[[LSE]] :
// CHECK: return
// CHECK-NOT: attn.attention
func.func @dense(%q: tensor<?x8x64xf32> {pagefold.name = "q"}, %k: tensor<?x2x64xf32>, %v: tensor<?x2x32xf32>,
                 %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> (tensor<?x8x32xf32>, tensor<?x8xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 128, kv_len 512>} {
  %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x32xf32>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x8x32xf32>, tensor<?x8xf32>
  return %o, %lse : tensor<?x8x32xf32>, tensor<?x8xf32>
}
