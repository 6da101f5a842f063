// RUN: pagefold-opt %s --canonicalize -split-input-file | FileCheck %s
// RUN: pagefold-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize -split-input-file | FileCheck %s --check-prefix=DIMS

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// Regions that yield what they are given, with their captures.
// CHECK-LABEL: func.func @identity_regions
// CHECK-NEXT: attn.attention %{{[^ ]+}}, %{{[^ ]+}} rows(%{{[^ ]+}}) scale 1.000000e+00 : tensor
func.func @identity_regions(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %t: tensor<32xf32>) -> !q {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0
    query(%x : !q) { attn.yield %x : !q }
    score(%s, %qi, %ki, %h, %b, %c = %t : tensor<32xf32>) {
      %dead = attn.lookup %c[%h] : tensor<32xf32> -> f32
      attn.yield %s : f32
    }
    epilogue(%o, %qi, %h, %d) { attn.yield %o : f32 }
    : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!k = tensor<?x8x128xbf16>

// An append stays though nothing uses its result: it writes.
// CHECK-LABEL: func.func @append
// CHECK-NEXT: attn.append %{{[^ ]+}}, %{{[^ ]+}} to %{{[^ ]+}} rows(%{{[^ ]+}}) value(%x: {{.*}}, %[[W:[^ ]+]] = %{{.*}} : tensor<128xf32>) {
// CHECK-NEXT:   attn.rms_norm %x, %[[W]]
func.func @append(%k: !k, %cache: !cache, %rows: tensor<?xi32>, %w: tensor<128xf32>, %unused: tensor<4xf32>) {
  attn.append %k, %k to %cache rows(%rows)
    key(%x : !k) { attn.yield %x : !k }
    value(%x : !k, %u = %unused : tensor<4xf32>, %c = %w : tensor<128xf32>) {
      %n = attn.rms_norm %x, %c eps 1.0e-5 : !k, tensor<128xf32>
      attn.yield %n : !k
    }
    : !k, !k, !cache, tensor<?xi32>
  return
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// Unused captures go, repeated ones unite, constants move in.
// CHECK-LABEL: func.func @captures
// CHECK-SAME: %[[T:[^:]+]]: tensor<32xf32>
// CHECK-NEXT: attn.attention {{.*}} score(%s, %q, %k, %h, %b, %[[C:[^ ]+]] = %[[T]] : tensor<32xf32>) {
// CHECK-NEXT:   %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:   %[[X:.*]] = attn.lookup %[[C]][%h]
// CHECK-NEXT:   %[[Y:.*]] = attn.lookup %[[C]][%b]
// CHECK-NEXT:   %[[Z:.*]] = arith.addf %[[X]], %[[Y]]
// CHECK-NEXT:   %[[R:.*]] = arith.mulf %[[Z]], %[[TWO]]
// CHECK-NEXT:   attn.yield %[[R]]
func.func @captures(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %t: tensor<32xf32>, %unused: f32) -> !q {
  %two = arith.constant 2.0 : f32
  %o = attn.attention %q, %cache rows(%rows) scale 1.0
    score(%s, %qi, %ki, %h, %b, %u = %unused : f32, %c0 = %t : tensor<32xf32>, %f = %two : f32,
          %c1 = %t : tensor<32xf32>) {
      %x = attn.lookup %c0[%h] : tensor<32xf32> -> f32
      %y = attn.lookup %c1[%b] : tensor<32xf32> -> f32
      %z = arith.addf %x, %y : f32
      %r = arith.mulf %z, %f : f32
      attn.yield %r : f32
    }
    : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// What no set of the mask reads is not bound; the names left keep their values.
// CHECK-LABEL: func.func @mask_names
// CHECK-SAME: %[[A:[^:]+]]: i32, %[[B:[^:]+]]: i32, %[[C:[^:]+]]: tensor<?xi32>, %[[D:[^:]+]]: tensor<?xi32>
// CHECK-NEXT: attn.attention {{.*}} mask <k <= b and k >= doc where b >= 3, doc per_row> symbols(%[[B]] : i32) row_values(%[[D]] : tensor<?xi32>) :
func.func @mask_names(%q: !q, %cache: !cache, %rows: tensor<?xi32>, %a: i32, %b: i32, %c: tensor<?xi32>,
                      %d: tensor<?xi32>) -> !q {
  %o = attn.attention %q, %cache rows(%rows) scale 1.0
    mask <k <= b and k >= doc where a >= 1, b >= 3, none_of per_row, doc per_row>
    symbols(%a : i32, %b : i32) row_values(%c : tensor<?xi32>, %d : tensor<?xi32>)
    : !q, !cache, tensor<?xi32> -> !q
  return %o : !q
}

// -----

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
!q = tensor<?x32x128xbf16>

// CHECK-LABEL: func.func @unused_lse
// CHECK-NEXT: %[[O:.*]] = attn.attention {{.*}} epilogue(%o, %q, %h, %d) {
// CHECK-NEXT:   arith.negf
// CHECK: } : {{.*}} -> tensor<?x32x128xbf16>{{$}}
// CHECK-NEXT: return %[[O]]
func.func @unused_lse(%q: !q, %cache: !cache, %rows: tensor<?xi32>) -> !q {
  %o, %lse = attn.attention %q, %cache rows(%rows) scale 1.0
    epilogue(%x, %qi, %h, %d) {
      %n = arith.negf %x : f32
      attn.yield %n : f32
    }
    : !q, !cache, tensor<?xi32> -> !q, tensor<?x32xf32>
  return %o : !q
}

// -----

// Tables without columns turn nothing.
// CHECK-LABEL: func.func @rope_of_nothing
// CHECK-SAME: (%[[X:[^:]+]]:
// CHECK-NEXT: return %[[X]]
func.func @rope_of_nothing(%x: tensor<?x32x128xbf16>, %cos: tensor<?x0xf32>, %p: tensor<?xi32>) -> tensor<?x32x128xbf16> {
  %y = attn.rope %x, %cos, %cos positions(%p) half_split : tensor<?x32x128xbf16>, tensor<?x0xf32>, tensor<?xi32>
  return %y : tensor<?x32x128xbf16>
}

// -----

// The state over no keys is the identity of merge, on either side.
// CHECK-LABEL: func.func @merge_with_nothing
// CHECK-SAME: (%[[O:[^:]+]]: tensor<4x32x128xbf16>, %[[L:[^:]+]]: tensor<4x32xf32>
// CHECK-NEXT: return %[[O]], %[[L]], %[[O]], %[[L]]
!o = tensor<4x32x128xbf16>
!l = tensor<4x32xf32>
func.func @merge_with_nothing(%o: !o, %l: !l, %any: !o) -> (!o, !l, !o, !l) {
  %empty = arith.constant dense<0xFF800000> : !l
  %0:2 = attn.merge (%o, %l), (%any, %empty) : !o, !l
  %1:2 = attn.merge (%any, %empty), (%o, %l) : !o, !l
  return %0#0, %0#1, %1#0, %1#1 : !o, !l, !o, !l
}

// -----

// +inf is not the empty state.
// CHECK-LABEL: func.func @merge_with_infinity
// CHECK: attn.merge
!o = tensor<4x32x128xbf16>
!l = tensor<4x32xf32>
func.func @merge_with_infinity(%o: !o, %l: !l) -> (!o, !l) {
  %inf = arith.constant dense<0x7F800000> : !l
  %0:2 = attn.merge (%o, %l), (%o, %inf) : !o, !l
  return %0#0, %0#1 : !o, !l
}

// -----

// Results have their operand's dims, so that tensor.dim looks through.
// DIMS-LABEL: func.func @dims
// DIMS-SAME: (%[[Q:[^:]+]]: tensor<?x32x128xbf16>
// DIMS-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
// DIMS-NEXT: %[[T:.*]] = tensor.dim %[[Q]], %[[ZERO]]
// DIMS-NEXT: return %[[T]]
!q = tensor<?x32x128xbf16>
func.func @dims(%q: !q, %rows: tensor<?xi32>, %w: tensor<128xf32>) -> index {
  %zero = arith.constant 0 : index
  %n = attn.rms_norm %q, %w eps 1.0e-5 : !q, tensor<128xf32>
  %o = attn.attention %n, %q, %q rows(%rows) kv_rows(%rows) scale 1.0 : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  %t = tensor.dim %o, %zero : !q
  return %t : index
}
