// What keeps a space from being streamed at the last moment: a query tile below its packed rows, a fold without a visit list.
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda q-tile=8" --tile-visit-lists --tile-to-hopper 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-to-hopper 2>&1 | FileCheck %s --check-prefix=VISITS

// ROWS: error: 'tile.space' op cannot be streamed: 12 packed rows, it takes 8
// VISITS: error: 'tile.space' op cannot be streamed: its fold has no visit list (tile-visit-lists)
func.func @f(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 3, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}
