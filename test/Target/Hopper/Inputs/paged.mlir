!q = tensor<?x8xKDIMxHALF>
!k = tensor<?xPAGEx2xKDIMxHALF>
!cache = !attn.paged_kv<2 heads, KDIM x KDIM, HALF, page PAGE>
func.func @f(%q: !q, %rows: tensor<?xi32>, %k: !k, %v: !k, %table: tensor<?x?xi32>, %lens: tensor<?xi32>,
             %sinks: tensor<8xf32>) -> !q attributes {attn.bounds = #attn.bounds<batch 64, q_len QLEN, kv_len 16384>} {
  %cache = attn.cache %k, %v table(%table) lens(%lens) layout(nhd) : !k, !k, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %cache rows(%rows) scale 0.09 mask <MASK> sinks(%sinks : tensor<8xf32>)
    score(%s, %i, %j, %h, %b) {
      %cap = arith.constant 30.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32
    } : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}
