// Two KV heads of dim 8, pages of 4 tokens, f32: small enough to write inputs by hand.
!cache = !attn.paged_kv<2 heads, 8 x 8, f32, page 4>
func.func @decode(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %rows: tensor<?xi32>,
                  %k_pages: tensor<?x4x2x8xf32>, %v_pages: tensor<?x4x2x8xf32>, %table: tensor<?x?xi32>,
                  %lens: tensor<?xi32>)
    -> (tensor<?x4x8xf32>, tensor<?x4xf32>) attributes {attn.bounds = #attn.bounds<batch 8, q_len 4, kv_len 64>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x4x2x8xf32>, tensor<?x4x2x8xf32>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %c = attn.append %k, %v to %cache rows(%rows) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, !cache, tensor<?xi32>
  %o, %lse = attn.attention %q, %c rows(%rows) scale 0.25 mask <causal>
    : tensor<?x4x8xf32>, !cache, tensor<?xi32> -> tensor<?x4x8xf32>, tensor<?x4xf32>
  return %o, %lse : tensor<?x4x8xf32>, tensor<?x4xf32>
}
