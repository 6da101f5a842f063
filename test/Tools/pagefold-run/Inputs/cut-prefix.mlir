// What attn-cascade makes, by hand: the oracle cuts as well.
!cache = !attn.paged_kv<2 heads, 8 x 8, f32, page 4>
!q = tensor<?x4x8xf32>
func.func @cut(%q: !q, %rows: tensor<?xi32>, %cache: !cache, %n: tensor<1xi32>)
    -> (!q, tensor<?x4xf32>, !q, tensor<?x4xf32>) attributes {attn.bounds = #attn.bounds<batch 8, q_len 4, kv_len 64>} {
  %shared, %all, %rest = attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<1xi32>, tensor<?xi32>, !q -> tensor<2xi32>
  %oa, %la = attn.attention %q, %shared rows(%all) scale 0.25 : !q, !cache, tensor<2xi32> -> !q, tensor<?x4xf32>
  %ob, %lb = attn.attention %q, %rest rows(%rows) scale 0.25 mask <causal> : !q, !cache, tensor<?xi32> -> !q, tensor<?x4xf32>
  return %oa, %la, %ob, %lb : !q, tensor<?x4xf32>, !q, tensor<?x4xf32>
}
