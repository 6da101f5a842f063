// TYPE is the element type of rows, CACHE that of the cache.
!cache = !attn.paged_kv<2 heads, 64 x 64, CACHE, page 16>
func.func @f(%q: tensor<?x4x64xTYPE>, %k: tensor<?x2x64xTYPE>, %rows: tensor<?xi32>, %cache: !cache)
    -> tensor<?x4x64xTYPE> attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %c = attn.append %k, %k to %cache rows(%rows) : tensor<?x2x64xTYPE>, tensor<?x2x64xTYPE>, !cache, tensor<?xi32>
  %o = attn.attention %q, %c rows(%rows) scale 0.125 mask <causal>
    : tensor<?x4x64xTYPE>, !cache, tensor<?xi32> -> tensor<?x4x64xTYPE>
  return %o : tensor<?x4x64xTYPE>
}
