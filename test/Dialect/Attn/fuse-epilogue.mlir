// Elementwise ops on an attention's result move into its epilogue.
// RUN: pagefold-opt %s --attn-fuse --canonicalize -split-input-file | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>

// A residual with all three dims and a gate a head and element: each read where its map says.
// CHECK-LABEL: func.func @gate_and_residual
// CHECK-SAME: %[[RES:[^:]+]]: tensor<?x32x128xbf16>, %[[GATE:[^:]+]]: tensor<32x128xf16>)
// CHECK-NEXT: %[[O:.*]] = attn.attention {{.*}} epilogue(%o, %q, %h, %d, %[[R:[^ ]+]] = %[[RES]] : {{[^ ]+}}, %[[G:[^ ]+]] = %[[GATE]] : {{[^ ]+}}) {
// CHECK-NEXT:   %[[T:.*]] = attn.token %q
// CHECK-NEXT:   %[[X:.*]] = attn.lookup %[[R]][%[[T]], %h, %d] : tensor<?x32x128xbf16> -> f32
// CHECK-NEXT:   %[[Y:.*]] = attn.lookup %[[G]][%h, %d] : tensor<32x128xf16> -> f32
// CHECK-NEXT:   %[[M:.*]] = arith.mulf %o, %[[Y]] : f32
// CHECK-NEXT:   %[[A:.*]] = arith.addf %[[M]], %[[X]] : f32
// CHECK-NEXT:   attn.yield %[[A]] : f32
// CHECK-NEXT: } : {{.*}} -> tensor<?x32x128xbf16>
// CHECK-NEXT: return %[[O]]
func.func @gate_and_residual(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %residual: !q,
                             %gate: tensor<32x128xf16>) -> !q {
  %zero = arith.constant 0 : index
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  // The size of the result is that of the query; asking for it is no other use.
  %tokens = tensor.dim %o, %zero : !q
  %empty = tensor.empty(%tokens) : !q
  %r = linalg.generic {
      indexing_maps = [#id, #id, affine_map<(t, h, d) -> (h, d)>, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o, %residual, %gate : !q, !q, tensor<32x128xf16>) outs(%empty : !q) {
    ^bb0(%x: bf16, %y: bf16, %g: f16, %out: bf16):
      %xf = arith.extf %x : bf16 to f32
      %yf = arith.extf %y : bf16 to f32
      %gf = arith.extf %g : f16 to f32
      %m = arith.mulf %xf, %gf : f32
      %a = arith.addf %m, %yf : f32
      %z = arith.truncf %a : f32 to bf16
      linalg.yield %z : bf16
  } -> !q
  return %r : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>
#id = affine_map<(t, h, d) -> (t, h, d)>

// Scalars: an operand, a value around the body, a constant in it, and a bf16 one that is widened outside.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME: %[[A:[^:]+]]: f32, %[[B:[^:]+]]: f32, %[[C:[^:]+]]: bf16)
// CHECK-NEXT: %[[CF:.*]] = arith.extf %[[C]] : bf16 to f32
// CHECK-NEXT: attn.attention {{.*}} epilogue(%o, %q, %h, %d, %[[X:[^ ]+]] = %[[A]] : f32, %[[Y:[^ ]+]] = %[[B]] : f32, %[[Z:[^ ]+]] = %[[CF]] : f32) {
// CHECK-NEXT:   %[[K:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:   arith.mulf %o, %[[X]] : f32
// CHECK-NEXT:   arith.mulf %{{.*}}, %[[Y]] : f32
// CHECK-NEXT:   arith.mulf %{{.*}}, %[[K]] : f32
// CHECK-NEXT:   arith.mulf %{{.*}}, %[[Z]] : f32
func.func @scalars(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %empty: tensor<?x32x128xf32>, %a: f32, %b: f32,
                   %c: bf16) -> tensor<?x32x128xf32> {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> tensor<?x32x128xf32>
  %r = linalg.generic {
      indexing_maps = [#id, affine_map<(t, h, d) -> ()>, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o, %a : tensor<?x32x128xf32>, f32) outs(%empty : tensor<?x32x128xf32>) {
    ^bb0(%x: f32, %s: f32, %out: f32):
      %k = arith.constant 0.5 : f32
      %0 = arith.mulf %x, %s : f32
      %1 = arith.mulf %0, %b : f32
      %2 = arith.mulf %1, %k : f32
      %cf = arith.extf %c : bf16 to f32
      %3 = arith.mulf %2, %cf : f32
      linalg.yield %3 : f32
  } -> tensor<?x32x128xf32>
  return %r : tensor<?x32x128xf32>
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// arith on tensors, one op behind the other: the second lands behind the first. Roundings between go away, and
// the result's type is the last one's.
// CHECK-LABEL: func.func @chain_and_convert
// CHECK: attn.attention {{.*}} epilogue(%o, %q, %h, %d, %{{.*}} = %{{.*}} : tensor<?x32x128xbf16>) {
// CHECK-NEXT:   attn.token
// CHECK-NEXT:   attn.lookup
// CHECK-NEXT:   %[[A:.*]] = arith.addf %o, %{{.*}} : f32
// CHECK-NEXT:   %[[E:.*]] = math.exp %[[A]] : f32
// CHECK-NEXT:   attn.yield %[[E]]
// CHECK-NEXT: } : {{.*}} -> tensor<?x32x128xf16>
// CHECK-NEXT: return
func.func @chain_and_convert(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %y: !q) -> tensor<?x32x128xf16> {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  %a = arith.addf %o, %y : !q
  %e = math.exp %a : !q
  %f = arith.extf %e : !q to tensor<?x32x128xf32>
  %h = arith.truncf %f : tensor<?x32x128xf32> to tensor<?x32x128xf16>
  return %h : tensor<?x32x128xf16>
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// A conversion alone leaves no epilogue behind.
// CHECK-LABEL: func.func @convert
// CHECK-NEXT: %[[O:.*]] = attn.attention %{{[^ ]+}}, %{{[^ ]+}} rows(%{{[^ ]+}}) scale 1.000000e+00 : {{.*}} -> tensor<?x32x128xf32>
// CHECK-NEXT: return %[[O]]
func.func @convert(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x32x128xf32> {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q
  %f = arith.extf %o : !q to tensor<?x32x128xf32>
  return %f : tensor<?x32x128xf32>
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// A named op; the result read twice; lse has uses of its own.
// CHECK-LABEL: func.func @square
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.attention {{.*}} epilogue(%o, %q, %h, %d) {
// CHECK-NEXT:   %[[M:.*]] = arith.mulf %o, %o : f32
// CHECK-NEXT:   attn.yield %[[M]]
// CHECK: return %[[O]], %[[LSE]]
func.func @square(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %empty: !q) -> (!q, tensor<?x32xf32>) {
  %o, %lse = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> !q, tensor<?x32xf32>
  %m = linalg.mul ins(%o, %o : !q, !q) outs(%empty : !q) -> !q
  return %m, %lse : !q, tensor<?x32xf32>
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// What it reads is computed behind the attention, which moves down to it.
// CHECK-LABEL: func.func @moves_down
// CHECK: %[[G:.*]] = tensor.cast
// CHECK-NEXT: attn.attention {{.*}} epilogue(%o, %q, %h, %d, %{{.*}} = %[[G]] : tensor<?x32x128xf32>)
func.func @moves_down(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %g: tensor<?x?x128xf32>)
    -> tensor<?x32x128xf32> {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0 : !q, !cache, tensor<?xi32> -> tensor<?x32x128xf32>
  %y = tensor.cast %g : tensor<?x?x128xf32> to tensor<?x32x128xf32>
  %a = arith.addf %o, %y : tensor<?x32x128xf32>
  return %a : tensor<?x32x128xf32>
}
