// Attention takes no norm of its result: a kernel of its own.
func.func @norm_behind(%q: tensor<?x8x64xf32>, %k: tensor<?x2x64xf32>, %rows: tensor<?xi32>, %w: tensor<64xf32>) -> tensor<?x8x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 64>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x64xf32>
  %n = attn.rms_norm %o, %w eps 1.0e-5 : tensor<?x8x64xf32>, tensor<64xf32>
  return %n : tensor<?x8x64xf32>
}
