// A cut cache: tables, lengths and offsets of the parts in the workspace, the pages of the whole, and the maxima of the
// one request that reads the shared keys.
// RUN: pagefold-opt %s --attn-cascade --attn-to-tile -split-input-file -verify-diagnostics | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<?x16x8x128xbf16, {{.*}}>, %[[V:[a-z0-9]+]]: memref<?x16x8x128xbf16,
// CHECK-SAME: dtype = "i32", name = "n", shape = [1]
// CHECK: %[[WHOLE:.*]] = tile.paged
// CHECK: %[[BATCH:.*]] = tile.batch rows(%[[ROWS:.*]]) of %[[WHOLE]] tokens(%[[Q:.*]]) :
// CHECK: %[[T1:.*]] = tile.workspace() bytes 2048 : memref<1x512xi32>
// CHECK: %[[L1:.*]] = tile.workspace() bytes 4 : memref<1xi32>
// CHECK: %[[R1:.*]] = tile.workspace() bytes 8 : memref<2xi32>
// CHECK: %[[T2:.*]] = tile.workspace() bytes 65536 : memref<32x512xi32>
// CHECK: %[[L2:.*]] = tile.workspace() bytes 128 : memref<32xi32>
// CHECK: tile.cut_prefix %{{.*}} of %[[BATCH]] shared(%[[T1]], %[[L1]], %[[R1]]) rest(%[[T2]], %[[L2]])
// CHECK: %[[SHARED:.*]] = tile.paged %[[K]], %[[V]] table(%[[T1]]) lens(%[[L1]])
// CHECK: %[[REST:.*]] = tile.paged %[[K]], %[[V]] table(%[[T2]]) lens(%[[L2]])
// CHECK: %[[ONE:.*]] = tile.batch rows(%[[R1]]) of %[[SHARED]] tokens(%[[Q]]) {tile.bounds = #attn.bounds<batch 1, q_len 32, kv_len 8192, tokens 32>}
// CHECK: tile.space of %[[ONE]], %[[SHARED]] group 4
// CHECK: %[[ALL:.*]] = tile.batch rows(%[[ROWS]]) of %[[REST]] tokens(%[[Q]]) :
// CHECK: tile.space of %[[ALL]], %[[REST]] group 4
// CHECK: tile.merge
func.func @decode(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32> {pagefold.name = "n"}) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 mask <causal> : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

// A promise that nothing used is no op.
// CHECK-LABEL: func.func @whole(
// CHECK-NOT: cut_prefix
// CHECK: tile.space
// CHECK-NOT: tile.merge
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @whole(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %n: tensor<1xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 8192>} {
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
func.func @constant(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 32, q_len 1, kv_len 8192>} {
  %n = arith.constant dense<4096> : tensor<1xi32>
  %c = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  // expected-error@+1 {{expects the length to be an argument of the function}}
  %o = attn.attention %q, %c rows(%rows) scale 0.088388 : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
