!cache = !attn.paged_kv<2 heads, 16 x 16, f32, page 4>
func.func @layer(%q: tensor<?x6x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x16xf32>, %rows: tensor<?xi32>,
                 %k_pages: tensor<?x4x2x16xf32>, %v_pages: tensor<?x4x2x16xf32>, %table: tensor<?x?xi32>,
                 %lens: tensor<?xi32>, %cos: tensor<?x4xf32>, %sin: tensor<?x4xf32>, %sinks: tensor<6xf32>)
    -> (tensor<?x6x16xf32>, tensor<?x6xf32>) attributes {attn.bounds = #attn.bounds<batch 8, q_len 8, kv_len 64>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x4x2x16xf32>, tensor<?x4x2x16xf32>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x6x16xf32>, tensor<?x4xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x2x16xf32>, tensor<?x4xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows) : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !cache, tensor<?xi32>
  %o, %lse = attn.attention %qr, %c rows(%rows) scale 0.25 mask <causal and window(9)> sinks(%sinks : tensor<6xf32>)
    score(%s, %qi, %ki, %h, %b) {
      %cap = arith.constant 5.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32
    }
    : tensor<?x6x16xf32>, !cache, tensor<?xi32> -> tensor<?x6x16xf32>, tensor<?x6xf32>
  return %o, %lse : tensor<?x6x16xf32>, tensor<?x6xf32>
}
