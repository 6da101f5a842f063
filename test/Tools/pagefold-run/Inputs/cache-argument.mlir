!cache = !attn.paged_kv<2 heads, 8 x 16, f32, page 4>
func.func @paged(%q: tensor<?x4x8xf32>, %cache: !cache, %rows: tensor<?xi32>, %w: i32)
    -> tensor<?x4x16xf32> attributes {attn.bounds = #attn.bounds<batch 8, q_len 4, kv_len 64>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.25 mask <causal and window(w) where w >= 1> symbols(%w : i32)
    : tensor<?x4x8xf32>, !cache, tensor<?xi32> -> tensor<?x4x16xf32>
  return %o : tensor<?x4x16xf32>
}
