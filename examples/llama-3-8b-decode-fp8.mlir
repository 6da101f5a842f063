// The decode step of llama-3-8b-decode.mlir over a cache of 8-bit floats, with a scale for each KV head of K and of V: the
// new rows are rounded as they are appended, and the queries stay bf16.
//
//   pagefold-run examples/llama-3-8b-decode-fp8.mlir --inputs 'lens=@examples/lengths-16.txt theta=500000' --check
//
!cache = !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>

func.func @decode(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xbf16>,
                  %rows: tensor<?xi32>, %k_pages: tensor<?x16x8x128xf8E4M3FN>, %v_pages: tensor<?x16x8x128xf8E4M3FN>,
                  %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %k_scale: tensor<8xf32>, %v_scale: tensor<8xf32>,
                  %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>)
    -> tensor<?x32x128xbf16> attributes {attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens)
    scales(%k_scale, %v_scale : tensor<8xf32>, tensor<8xf32>) layout(nhd)
    : tensor<?x16x8x128xf8E4M3FN>, tensor<?x16x8x128xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x8x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows)
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %qr, %c rows(%rows) scale 0.08838834764831845 mask <causal>
    : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}
