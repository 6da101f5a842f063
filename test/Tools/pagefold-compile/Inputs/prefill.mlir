!q = tensor<?x4x64xbf16>
func.func @prefill(%q: !q, %k: !q, %v: !q, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 512, kv_len 512>} {
  %o = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
