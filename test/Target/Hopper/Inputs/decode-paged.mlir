!q = tensor<?xHEADSxKDIMxHALF>
!k = tensor<?xPAGEx2xKDIMxHALF>
!v = tensor<?xPAGEx2xVDIMxHALF>
!o = tensor<?xHEADSxVDIMxHALF>
!cache = !attn.paged_kv<2 heads, KDIM x VDIM, HALF, page PAGE>
func.func @f(%q: !q, %rows: tensor<?xi32>, %k: !k, %v: !v, %table: tensor<?x?xi32>, %lens: tensor<?xi32>,
             %sinks: tensor<HEADSxf32>) -> !o attributes {attn.bounds = #attn.bounds<batch BATCH, q_len QLEN, kv_len 16384>} {
  %cache = attn.cache %k, %v table(%table) lens(%lens) layout(nhd) : !k, !v, tensor<?x?xi32>, tensor<?xi32> -> !cache
  %o = attn.attention %q, %cache rows(%rows) scale 0.09 mask <MASK> sinks(%sinks : tensor<HEADSxf32>)
    score(%s, %i, %j, %h, %b) {
      %cap = arith.constant 30.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32
    } : !q, !cache, tensor<?xi32> -> !o
  return %o : !o
}
