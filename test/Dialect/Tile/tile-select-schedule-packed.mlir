// The attribute tile.packed: pipelined spaces whose query tiles it at least halves have it, and a remark says so.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda | FileCheck %s
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --remarks-filter=tile-select-schedule --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

// 4 tokens x group 8: one tile of 32 rows for each KV head instead of 8 of 4.
// CHECK-LABEL: func.func @group_8
// CHECK: tile.space {{.*}} schedule <pipelined, q_tile 128, kv_tile 128, splits 8>
// CHECK: } {tile.packed}
// REMARK: [Passed] PackGroups | Category:tile-select-schedule | Function=group_8 | Reason="at most 4 query rows a request, of which each takes 8 rows of a tile of 128", Remark="the heads of a group share query tiles"
func.func @group_8(%q: tensor<?x16x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x16x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 4, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x16x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x16x128xbf16>
  return %o : tensor<?x16x128xbf16>
}

// 32 rows of 5 heads, each of 8 rows: 2 tiles instead of 5. Of 33 rows there would be 3.
// CHECK-LABEL: func.func @group_5
// CHECK: } {tile.packed}
// REMARK: Function=group_5 | Reason="at most 32 query rows a request, of which each takes 8 rows of a tile of 128"
func.func @group_5(%q: tensor<?x10x64xf16>, %k: tensor<?x2x64xf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x10x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 32, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x10x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x10x64xf16>
  return %o : tensor<?x10x64xf16>
}

// CHECK-LABEL: func.func @group_5_of_33_rows
// CHECK: tile.space {{.*}} schedule <pipelined
// CHECK-NOT: tile.packed
// REMARK-NOT: PackGroups {{.*}} Function=group_5_of_33_rows
func.func @group_5_of_33_rows(%q: tensor<?x10x64xf16>, %k: tensor<?x2x64xf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x10x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 33, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x10x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x10x64xf16>
  return %o : tensor<?x10x64xf16>
}

// Chunks fill tiles of one head.
// CHECK-LABEL: func.func @chunks
// CHECK-NOT: tile.packed
func.func @chunks(%q: tensor<?x16x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x16x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 128, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x16x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x16x128xbf16>
  return %o : tensor<?x16x128xbf16>
}

// Groups of one head.
// CHECK-LABEL: func.func @group_1
// CHECK-NOT: tile.packed
func.func @group_1(%q: tensor<?x2x64xf16>, %k: tensor<?x2x64xf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> tensor<?x2x64xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 20, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}
