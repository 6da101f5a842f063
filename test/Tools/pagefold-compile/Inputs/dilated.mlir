// Every 1024th key: tiles have to be tested one by one, which the pipelined kernel does not.
func.func @dilated(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 4096, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125
      mask <k <= q + kv_len - q_len and (q + kv_len - q_len - k) mod 1024 == 0>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
