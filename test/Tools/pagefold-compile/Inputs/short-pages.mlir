// Pages of 4 keys: no box of 8 rows fits in one.
!cache = !attn.paged_kv<2 heads, 128 x 128, bf16, page 4>
func.func @short_pages(%q: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 512, kv_len 4096>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, !cache, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
