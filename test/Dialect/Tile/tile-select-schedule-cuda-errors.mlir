// What target cuda refuses: wide heads, a form that does not take the space, the host's forms, an unknown target.
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --split-input-file 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=pipelined" --split-input-file 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=dot" --split-input-file 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=abacus --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// FORM: error: 'tile.space' op cannot take the form pipelined: keys are neither bf16 nor f16
// HOST: error: 'tile.space' op expects the option form to be pipelined or simt, got dot
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
