// Row-wise and elementwise ops on queries, new keys and new values move into prologues.
// RUN: pagefold-opt %s --attn-fuse --canonicalize -split-input-file | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
!k = tensor<?x8x128xbf16>

// The layer of the level's page. The rope of the queries refers to the cache before the append; inside it is
// the attention's own, whose lengths are the same.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[Q:[^:]+]]: tensor<?x32x128xbf16>, %[[K:[^:]+]]: tensor<?x8x128xbf16>, %[[V:[^:]+]]: tensor<?x8x128xbf16>
// CHECK-SAME: %[[CACHE:[^:]+]]: !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>, %[[COS:[^:]+]]: tensor<?x64xf32>
// CHECK-NEXT: %[[C:.*]] = attn.append %[[K]], %[[V]] to %[[CACHE]] rows(%{{[^ ]+}}) key({{.*}} = %[[CACHE]] : !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>) {
// CHECK-NEXT:   %[[KR:.*]] = attn.rope %x
// CHECK-NEXT:   attn.yield %[[KR]]
// CHECK-NEXT: } : tensor
// CHECK-NEXT: %[[O:.*]] = attn.attention %[[Q]], %[[C]] {{.*}} query({{.*}} = %[[C]] : !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
// CHECK-NEXT:   %[[QN:.*]] = attn.rms_norm %x
// CHECK-NEXT:   %[[QR:.*]] = attn.rope %[[QN]]
// CHECK-NEXT:   attn.yield %[[QR]]
// CHECK-NEXT: } : tensor
// CHECK-NEXT: return %[[O]]
func.func @layer(%q: !q, %k: !k, %v: !k, %rows: tensor<?xi32>, %cache: !cache, %cos: tensor<?x64xf32>,
                 %sin: tensor<?x64xf32>, %weight: tensor<128xf32>) -> !q {
  %qn = attn.rms_norm %q, %weight eps 1.0e-5 : !q, tensor<128xf32>
  %qr = attn.rope %qn, %cos, %sin rows(%rows) of %cache half_split : !q, tensor<?x64xf32>, tensor<?xi32>, !cache
  %kr = attn.rope %k, %cos, %sin rows(%rows) of %cache half_split : !k, tensor<?x64xf32>, tensor<?xi32>, !cache
  %c = attn.append %kr, %v to %cache rows(%rows) : !k, !k, !cache, tensor<?xi32>
  %o = attn.attention %qr, %c rows(%rows) scale 0.088388 mask <causal> : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!k = tensor<?x8x128xbf16>

// Elementwise ops on values: a conversion makes its destination inside, and what else is read is captured.
// CHECK-LABEL: func.func @values
// CHECK-SAME: %[[K:[^:]+]]: tensor<?x8x128xbf16>, %[[V:[^:]+]]: tensor<?x8x128xf32>, {{.*}} %[[S:[^:]+]]: tensor<8xf32>, %[[G:[^:]+]]: f32)
// CHECK-NEXT: attn.append %[[K]], %[[V]] to %{{[^ ]+}} rows(%{{[^ ]+}}) value(%x: tensor<?x8x128xf32>, %[[SI:[^ ]+]] = %[[S]] : tensor<8xf32>, %[[GI:[^ ]+]] = %[[G]] : f32) {
// CHECK:   tensor.dim %x
// CHECK:   %[[E:.*]] = tensor.empty
// CHECK:   %[[Y:.*]] = linalg.generic {{.*}} ins(%x, %[[SI]] : tensor<?x8x128xf32>, tensor<8xf32>) outs(%[[E]] : tensor<?x8x128xbf16>) {
// CHECK:     arith.mulf %{{.*}}, %[[GI]] : f32
// CHECK:   attn.yield %[[Y]] : tensor<?x8x128xbf16>
func.func @values(%k: !k, %v: tensor<?x8x128xf32>, %empty: !k, %cache: !cache, %rows: tensor<?xi32>,
                  %s: tensor<8xf32>, %g: f32) -> !cache {
  %y = linalg.generic {
      indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (h)>,
                       affine_map<(t, h, d) -> (t, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v, %s : tensor<?x8x128xf32>, tensor<8xf32>) outs(%empty : !k) {
    ^bb0(%x: f32, %f: f32, %out: bf16):
      %0 = arith.mulf %x, %f : f32
      %1 = arith.mulf %0, %g : f32
      %2 = arith.truncf %1 : f32 to bf16
      linalg.yield %2 : bf16
  } -> !k
  %c = attn.append %k, %y to %cache rows(%rows) : !k, !k, !cache, tensor<?xi32>
  return %c : !cache
}

// -----

!q = tensor<?x8x64xf32>

// Dense attention; positions from a tensor; arith on tensors with a second tensor that is captured.
// CHECK-LABEL: func.func @dense
// CHECK-SAME: %[[Q:[^:]+]]: tensor<?x8x64xf32>, %[[BIAS:[^:]+]]: tensor<?x8x64xf32>
// CHECK: attn.attention %[[Q]], {{.*}} query(%x: tensor<?x8x64xf32>, {{.*}}, %[[B:[^ ]+]] = %[[BIAS]] : tensor<?x8x64xf32>) {
// CHECK-NEXT:   %[[G:.*]] = linalg.generic {{.*}} ins(%x, %[[B]] : tensor<?x8x64xf32>, tensor<?x8x64xf32>) outs(%x : tensor<?x8x64xf32>)
// CHECK:   %[[R:.*]] = attn.rope %[[G]], %{{.*}}, %{{.*}} positions(%{{.*}}) interleaved
// CHECK-NEXT:   attn.yield %[[R]]
func.func @dense(%q: !q, %bias: !q, %rows: tensor<?xi32>, %cos: tensor<?x16xf32>, %p: tensor<?xi64>) -> !q {
  %a = arith.addf %q, %bias : !q
  %r = attn.rope %a, %cos, %cos positions(%p) interleaved : !q, tensor<?x16xf32>, tensor<?xi64>
  %o = attn.attention %r, %q, %q rows(%rows) kv_rows(%rows) scale 0.125 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!q = tensor<?x8x128xbf16>

// Between two attentions the epilogue of the first is preferred to the prologue of the second.
// CHECK-LABEL: func.func @between
// CHECK: %[[A:.*]] = attn.attention {{.*}} epilogue(
// CHECK-NEXT:   arith.negf
// CHECK: attn.attention %[[A]], %{{[^ ]+}}, %{{[^ ]+}} rows(%{{[^ ]+}}) kv_rows(%{{[^ ]+}}) scale 1.000000e+00 : tensor
func.func @between(%q: !q, %rows: tensor<?xi32>) -> !q {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %n = arith.negf %o : !q
  %p = attn.attention %n, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %p : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x8x128xbf16>

// The rope's cache has been appended to twice, and the attention is over dense keys.
// CHECK-LABEL: func.func @newest
// CHECK: %[[C1:.*]] = attn.append {{.*}} to %{{[^ ]+}}
// CHECK: %[[C2:.*]] = attn.append {{.*}} to %[[C1]]
// CHECK: attn.attention {{.*}} query({{.*}} = %[[C2]] : !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>) {
func.func @newest(%q: !q, %k: !q, %rows: tensor<?xi32>, %cache: !cache, %cos: tensor<?x64xf32>) -> (!q, !cache) {
  %r = attn.rope %q, %cos, %cos rows(%rows) of %cache half_split : !q, tensor<?x64xf32>, tensor<?xi32>, !cache
  %c1 = attn.append %k, %k to %cache rows(%rows) : !q, !q, !cache, tensor<?xi32>
  %c2 = attn.append %k, %k to %c1 rows(%rows) : !q, !q, !cache, tensor<?xi32>
  %o = attn.attention %r, %k, %k rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o, %c2 : !q, !cache
}
