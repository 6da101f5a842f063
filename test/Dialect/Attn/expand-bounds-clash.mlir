// RUN: pagefold-opt %s --attn-expand-bounds -verify-diagnostics

// A name that a variant would have is taken.
// expected-error@+1 {{expects no function 'layer_b4_q1_kv128' beside 'layer', whose variant for #attn.bounds<batch 4, q_len 1, kv_len 128> has that name}}
func.func @layer(%x: tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
    attributes {attn.bounds = [#attn.bounds<batch 4, q_len 1, kv_len 128>, #attn.bounds<batch 2, q_len 16, kv_len 128>]} {
  return %x : tensor<?x8x64xf32>
}
func.func @layer_b4_q1_kv128(%x: tensor<?x8x64xf32>) -> tensor<?x8x64xf32> {
  return %x : tensor<?x8x64xf32>
}
