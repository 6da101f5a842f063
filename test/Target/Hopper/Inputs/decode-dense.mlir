!q = tensor<?xHEADSxKDIMxHALF>
!k = tensor<?x2xKDIMxHALF>
!v = tensor<?x2xVDIMxHALF>
!o = tensor<?xHEADSxVDIMxHALF>
func.func @f(%q: !q, %k: !k, %v: !v, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> (!o, tensor<?xHEADSxf32>)
    attributes {attn.bounds = #attn.bounds<batch BATCH, q_len QLEN, kv_len 16384>} {
  %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.09 mask <MASK>
    : !q, !k, !v, tensor<?xi32>, tensor<?xi32> -> !o, tensor<?xHEADSxf32>
  return %o, %lse : !o, tensor<?xHEADSxf32>
}
