// A decode step whose requests share a prefix of n keys: appended, then attended, with sinks.
!cache = !attn.paged_kv<2 heads, 8 x 8, f32, page 4>
func.func @cascade(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x2x8xf32>, %rows: tensor<?xi32>,
                   %cache: !cache, %n: tensor<1xi32>, %sinks: tensor<4xf32>)
    -> (tensor<?x4x8xf32>, tensor<?x4xf32>) attributes {attn.bounds = #attn.bounds<batch 8, q_len 4, kv_len 64>} {
  %s = attn.shared_prefix %cache, %n expected 32 : !cache, tensor<1xi32>
  %c = attn.append %k, %v to %s rows(%rows) : tensor<?x2x8xf32>, tensor<?x2x8xf32>, !cache, tensor<?xi32>
  %o, %lse = attn.attention %q, %c rows(%rows) scale 0.25 mask <causal> sinks(%sinks : tensor<4xf32>)
    : tensor<?x4x8xf32>, !cache, tensor<?xi32> -> tensor<?x4x8xf32>, tensor<?x4xf32>
  return %o, %lse : tensor<?x4x8xf32>, tensor<?x4xf32>
}
