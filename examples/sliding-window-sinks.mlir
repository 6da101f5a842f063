// Attention over a sliding window with attention sinks: each token sees the last 128 tokens, and every head has a
// learned logit that enters the denominator once. 64 query heads on 8 KV heads of dim 64.
// The first tokens are kept too (`sink_window` keeps 4), as streaming language models want it.
//
//   pagefold-run examples/sliding-window-sinks.mlir --inputs 'lens=300,17,1024 q_len=3 layout=hnd' --check
//
!cache = !attn.paged_kv<8 heads, 64 x 64, bf16, page 32>

func.func @window(%q: tensor<?x64x64xbf16>, %k: tensor<?x8x64xbf16>, %v: tensor<?x8x64xbf16>, %rows: tensor<?xi32>,
                  %k_pages: tensor<?x32x8x64xbf16>, %v_pages: tensor<?x32x8x64xbf16>, %table: tensor<?x?xi32>,
                  %lens: tensor<?xi32>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>, %sinks: tensor<64xf32>)
    -> tensor<?x64x64xbf16> attributes {attn.bounds = #attn.bounds<batch 32, q_len 8, kv_len 4096>} {
  %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
    : tensor<?x32x8x64xbf16>, tensor<?x32x8x64xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %qr = attn.rope %q, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x64x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x8x64xbf16>, tensor<?x32xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows)
    : tensor<?x8x64xbf16>, tensor<?x8x64xbf16>, !cache, tensor<?xi32>
  %o = attn.attention %qr, %c rows(%rows) scale 0.125 mask <causal and sink_window(4, 128)>
    sinks(%sinks : tensor<64xf32>)
    : tensor<?x64x64xbf16>, !cache, tensor<?xi32> -> tensor<?x64x64xbf16>
  return %o : tensor<?x64x64xbf16>
}
