// RUN: pagefold-opt %s --attn-expand-bounds | FileCheck %s
// RUN: pagefold-opt %s --attn-expand-bounds='bounds="batch 2, q_len 1, kv_len 64; batch 2,q_len 8,kv_len 64,tokens 9"' | FileCheck %s --check-prefix=OPTION
// RUN: pagefold-opt %s --attn-expand-bounds='bounds="batch 2, q_len 1, kv_len 64"' | FileCheck %s --check-prefix=ONE
// RUN: not pagefold-opt %s --attn-expand-bounds='bounds="batch 2, q_len 1"' 2>&1 | FileCheck %s --check-prefix=SPELLING
// RUN: not pagefold-opt %s --attn-expand-bounds='bounds="batch 0, q_len 1, kv_len 4"' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pagefold-opt %s --attn-expand-bounds='bounds="batch 2, q_len 1, kv_len 4;"' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not pagefold-opt %s --attn-expand-bounds='bounds="batch 2, q_len 4, kv_len 64; batch 1, q_len 4, kv_len 64"' 2>&1 | FileCheck %s --check-prefix=COVERED

// In the list's order, each with its body, in the place of the graph.
// CHECK-LABEL: func.func @before
// CHECK: func.func @layer_b4_q1_kv128(%{{.*}}: tensor<?x8x64xf32>
// CHECK-SAME: attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 128>, attn.graph = "layer"}
// CHECK-NEXT: attn.rms_norm
// CHECK: func.func @layer_b2_q16_kv128_t20(
// CHECK-SAME: attributes {attn.bounds = #attn.bounds<batch 2, q_len 16, kv_len 128, tokens 20>, attn.graph = "layer"}
// CHECK-NEXT: attn.rms_norm
// A list of one is that one, and the function keeps its name.
// CHECK: func.func @alone(
// CHECK-SAME: attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 128>}
// CHECK-NOT: func.func @layer(

// The option stands in for all that is declared, or is not.
// OPTION: func.func @before_b2_q1_kv64(
// OPTION: func.func @before_b2_q8_kv64_t9(
// OPTION: func.func @layer_b2_q1_kv64(
// OPTION: func.func @layer_b2_q8_kv64_t9(
// OPTION: func.func @alone_b2_q1_kv64(
// OPTION: func.func private @elsewhere()
// ONE: func.func @before({{.*}} attributes {attn.bounds = #attn.bounds<batch 2, q_len 1, kv_len 64>}
// ONE: func.func @layer({{.*}} attributes {attn.bounds = #attn.bounds<batch 2, q_len 1, kv_len 64>}

// SPELLING: error: option bounds expects 'batch 8, q_len 1, kv_len 1024' and perhaps ', tokens 8', of several with ';' between, got 'batch 2, q_len 1': expected ','
// ZERO: error: option bounds expects {{.*}} got 'batch 0, q_len 1, kv_len 4': expects batch from 1 to 2147483647, got 0
// EMPTY: error: option bounds expects {{.*}} got '':
// COVERED: error: expects each entry of 'attn.bounds' to hold calls that those before it do not, as the first that fits is taken; #attn.bounds<batch 1, q_len 4, kv_len 64> comes after #attn.bounds<batch 2, q_len 4, kv_len 64>

func.func @before(%x: tensor<?x8x64xf32>, %w: tensor<64xf32>) -> tensor<?x8x64xf32> {
  %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x8x64xf32>, tensor<64xf32>
  return %n : tensor<?x8x64xf32>
}
func.func @layer(%x: tensor<?x8x64xf32>, %w: tensor<64xf32>) -> tensor<?x8x64xf32>
    attributes {attn.bounds = [#attn.bounds<batch 4, q_len 1, kv_len 128>, #attn.bounds<batch 2, q_len 16, kv_len 128, tokens 20>]} {
  %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x8x64xf32>, tensor<64xf32>
  return %n : tensor<?x8x64xf32>
}
func.func @alone(%x: tensor<?x8x64xf32>, %w: tensor<64xf32>) -> tensor<?x8x64xf32>
    attributes {attn.bounds = [#attn.bounds<batch 4, q_len 1, kv_len 128>]} {
  %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x8x64xf32>, tensor<64xf32>
  return %n : tensor<?x8x64xf32>
}
func.func private @elsewhere()
