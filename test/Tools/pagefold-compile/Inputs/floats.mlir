// f32 has no tensor cores here: on target cuda one thread a row.
func.func @floats(%q: tensor<?x8x64xf32>, %k: tensor<?x2x64xf32>, %rows: tensor<?xi32>) -> tensor<?x8x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 512, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x64xf32>
  return %o : tensor<?x8x64xf32>
}
