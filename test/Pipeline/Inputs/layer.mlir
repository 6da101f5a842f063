!cache = !attn.paged_kv<2 heads, 64 x 64, bf16, page 16>
func.func @layer(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %rows: tensor<?xi32>,
                 %k_pages: tensor<?x16x2x64xbf16>, %v_pages: tensor<?x16x2x64xbf16>, %table: tensor<?x?xi32>,
                 %lens: tensor<?xi32>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>) -> tensor<?x8x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 8, q_len 1, kv_len 1024>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x8x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x2x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows)
    : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %qr, %c rows(%rows) scale 0.125 mask <causal>
    score(%s, %i, %j, %h, %b) {
      %cap = arith.constant 50.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32
    }
    : tensor<?x8x64xbf16>, !cache, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}
