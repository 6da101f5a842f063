// Every third block of 1024 keys: tiles have to be tested one by one, which the pipelined kernel does not.
func.func @blocks(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 4096, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal and (k floordiv 1024) mod 3 == 0>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
