// A prefill step of a Llama 3 8B layer, whole prompts or chunks of them: up to 512 new tokens a request. The same ops
// as in llama-3-8b-decode.mlir; only the declared maxima differ. Whole prompts:
//
//   pagefold-run examples/llama-3-8b-prefill.mlir --inputs 'lens=200,77 q_len=all theta=500000' --check
//
// A chunk of 64 tokens at the end of each context:
//
//   pagefold-run examples/llama-3-8b-prefill.mlir --inputs 'lens=700,300 q_len=64 theta=500000' --check
//
!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>

func.func @prefill(%q: tensor<?x32x128xbf16>, %k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xbf16>,
                   %rows: tensor<?xi32>, %k_pages: tensor<?x16x8x128xbf16>, %v_pages: tensor<?x16x8x128xbf16>,
                   %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>)
    -> tensor<?x32x128xbf16> attributes {attn.bounds = #attn.bounds<batch 16, q_len 512, kv_len 8192>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
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
