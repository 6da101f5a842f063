// The ops of shared prefixes: read, printed, read again, in the custom form and in the generic one.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s
// RUN: pagefold-opt %s --mlir-print-op-generic | pagefold-opt | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>

// CHECK-LABEL: func.func @promise
// CHECK: attn.shared_prefix %{{.*}}, %{{.*}} : !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>, tensor<1xi32>
// CHECK: attn.shared_prefix %{{.*}}, %{{.*}} expected 4096 : !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>, tensor<1xi32>
func.func @promise(%cache: !cache, %n: tensor<1xi32>) -> (!cache, !cache) {
  %a = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  %b = attn.shared_prefix %cache, %n expected 4096 : !cache, tensor<1xi32>
  return %a, %b : !cache, !cache
}

// CHECK-LABEL: func.func @cut
// CHECK: %{{.*}}, %[[ALL:.*]], %{{.*}} = attn.cut_prefix %{{.*}}, %{{.*}} rows(%{{.*}}) tokens(%{{.*}}) : !attn.paged_kv<{{.*}}>, tensor<1xi32>, tensor<?xi32>, tensor<?x32x128xbf16> -> tensor<2xi32>
func.func @cut(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %q: tensor<?x32x128xbf16>) -> tensor<2xi32> {
  %shared, %all, %rest = attn.cut_prefix %cache, %n rows(%rows) tokens(%q)
    : !cache, tensor<1xi32>, tensor<?xi32>, tensor<?x32x128xbf16> -> tensor<2xi32>
  return %all : tensor<2xi32>
}

// An append to a cache with a promise has it too, and takes the new value.
// CHECK-LABEL: func.func @append
func.func @append(%cache: !cache, %n: tensor<1xi32>, %rows: tensor<?xi32>, %k: tensor<?x8x128xbf16>) -> !cache {
  %a = attn.shared_prefix %cache, %n : !cache, tensor<1xi32>
  %b = attn.append %k, %k to %a rows(%rows) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return %b : !cache
}
