// What target cuda refuses: wide heads, a form that does not take the space, the host's forms, an unknown target.
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --split-input-file 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=pipelined" --split-input-file 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=dot" --split-input-file 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=streaming" --split-input-file 2>&1 | FileCheck %s --check-prefix=STREAM
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=streaming kv-tile=48" --split-input-file 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=abacus --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// FORM: error: 'tile.space' op cannot take the form pipelined: keys are neither bf16 nor f16
// STREAM: error: 'tile.space' op cannot take the form streaming: keys are not of 8 bits
// HOST: error: 'tile.space' op expects the option form to be streaming, pipelined or simt, got dot
// TARGET: error: 'tile.space' op expects the option target to be host or cuda, got abacus
func.func @floats(%q: tensor<?x2x64xf32>, %k: tensor<?x2x64xf32>, %rows: tensor<?xi32>) -> tensor<?x2x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x2x64xf32>
  return %o : tensor<?x2x64xf32>
}

// -----

// WIDE: error: 'tile.space' op expects head dimensions up to 256 on target cuda, got 320
func.func @wide(%q: tensor<?x2x320xf32>, %k: tensor<?x2x320xf32>, %rows: tensor<?xi32>) -> tensor<?x2x320xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x2x320xf32>, tensor<?x2x320xf32>, tensor<?x2x320xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x2x320xf32>
  return %o : tensor<?x2x320xf32>
}

// -----

// STREAM: error: 'tile.space' op cannot take the form streaming: 20 rows, it takes at most 16
func.func @many_rows(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 5, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}

// -----

// A slice is 16 keys, and nothing else.
// TILE: error: 'tile.space' op cannot take this schedule: C2: expects kv_tile to be a multiple of 16 from 16 to 32 for streaming, got 48
func.func @decode(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}
