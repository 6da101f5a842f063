// A packed tile has whole groups.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists -o %t.mlir
// RUN: sed 's/q_tile 128/q_tile 64/' %t.mlir | not pagefold-opt --tile-to-hopper 2>&1 | FileCheck %s

// CHECK: error: 'tile.space' op cannot be pipelined: a group has 128 rows, a query tile 64
func.func @f(%q: tensor<?x71x64xbf16>, %rows: tensor<?xi32>, %k: tensor<?x1x64xbf16>, %kv_rows: tensor<?xi32>) -> tensor<?x71x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : tensor<?x71x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x71x64xbf16>
  return %o : tensor<?x71x64xbf16>
}
