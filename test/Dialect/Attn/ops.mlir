// Every op in its spellings: read, printed, read again, in the custom form and in the generic one.
// RUN: pagefold-opt %s --verify-roundtrip | FileCheck %s
// RUN: pagefold-opt %s --mlir-print-op-generic | pagefold-opt | FileCheck %s

!cache = !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>

// CHECK-LABEL: func.func @cache_of_padded_rows
// CHECK: attn.cache %{{.*}}, %{{.*}} table(%{{.*}}) lens(%{{.*}}) layout(nhd)
// CHECK-SAME: : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
// CHECK-SAME: -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
func.func @cache_of_padded_rows(%k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>,
                                %table: tensor<?x?xi32>, %lens: tensor<?xi32>) -> !cache {
  %c = attn.cache %k, %v table(%table) lens(%lens) layout(nhd)
    : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !cache
  return %c : !cache
}

// K and V dims differ, the table is one list, pages are head-major.
// CHECK-LABEL: func.func @cache_of_one_list
// CHECK: attn.cache {{.*}} starts(%{{.*}} : tensor<5xi32>) lens(%{{.*}}) layout(hnd)
func.func @cache_of_one_list(%k: tensor<?x2x1x192xf16>, %v: tensor<?x2x1x128xf16>, %table: tensor<?xi32>,
                             %starts: tensor<5xi32>, %lens: tensor<4xi32>)
    -> !attn.paged_kv<2 heads, 192 x 128, f16, page 1> {
  %c = attn.cache %k, %v table(%table) starts(%starts : tensor<5xi32>) lens(%lens) layout(hnd)
    : tensor<?x2x1x192xf16>, tensor<?x2x1x128xf16>, tensor<?xi32>, tensor<4xi32>
    -> !attn.paged_kv<2 heads, 192 x 128, f16, page 1>
  return %c : !attn.paged_kv<2 heads, 192 x 128, f16, page 1>
}

// Elements of 8 bits come with scales. Rows of other types are appended, and queries of another type attend.
// CHECK-LABEL: func.func @scaled_cache
// CHECK: attn.cache {{.*}} lens(%{{.*}}) scales(%{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>) layout(nhd)
// CHECK-SAME: -> !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>
// CHECK: attn.append {{.*}} : tensor<?x2x64xf16>, tensor<?x2x64xf32>, !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>
// CHECK: attn.attention {{.*}} : tensor<?x8x64xbf16>, !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>, tensor<?xi32> -> tensor<?x8x64xbf16>
!scaled = !attn.paged_kv<2 heads, 64 x 64, f8E4M3FN, page 16>
func.func @scaled_cache(%pages: tensor<?x16x2x64xf8E4M3FN>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>,
                        %k_scale: tensor<2xf32>, %v_scale: tensor<2xf32>, %q: tensor<?x8x64xbf16>,
                        %k: tensor<?x2x64xf16>, %v: tensor<?x2x64xf32>, %rows: tensor<?xi32>) -> tensor<?x8x64xbf16> {
  %c = attn.cache %pages, %pages table(%table) lens(%lens)
    scales(%k_scale, %v_scale : tensor<2xf32>, tensor<2xf32>) layout(nhd)
    : tensor<?x16x2x64xf8E4M3FN>, tensor<?x16x2x64xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32> -> !scaled
  %d = attn.append %k, %v to %c rows(%rows) : tensor<?x2x64xf16>, tensor<?x2x64xf32>, !scaled, tensor<?xi32>
  %o = attn.attention %q, %d rows(%rows) scale 0.125 : tensor<?x8x64xbf16>, !scaled, tensor<?xi32> -> tensor<?x8x64xbf16>
  return %o : tensor<?x8x64xbf16>
}

// CHECK-LABEL: func.func @append
// CHECK: attn.append %{{.*}}, %{{.*}} to %{{.*}} rows(%{{.*}}) : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>,
func.func @append(%k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) {
  attn.append %k, %v to %cache rows(%rows)
    : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
  return
}

// Clauses come in any order and are printed in one.
// CHECK-LABEL: func.func @append_with_prologues
// CHECK: attn.append {{.*}} rows(%{{.*}}) key(%[[X:[^ :]+]]: tensor<?x8x128xbf16>, %[[W:[^ :]+]] = %{{.*}} : tensor<128xf32>) {
// CHECK:   attn.rms_norm %[[X]], %[[W]] eps 9.9999999999999995E-7
// CHECK: } value(%{{.*}}: tensor<?x8x128xf32>) {
// CHECK:   linalg.generic
// CHECK: } : tensor<?x8x128xbf16>, tensor<?x8x128xf32>
#id = affine_map<(t, h, d) -> (t, h, d)>
func.func @append_with_prologues(%k: tensor<?x8x128xbf16>, %v: tensor<?x8x128xf32>, %cache: !cache,
                                 %rows: tensor<?xi32>, %weight: tensor<128xf32>) -> !cache {
  %c = attn.append %k, %v to %cache
    value(%x : tensor<?x8x128xf32>) {
      %zero = arith.constant 0 : index
      %tokens = tensor.dim %x, %zero : tensor<?x8x128xf32>
      %empty = tensor.empty(%tokens) : tensor<?x8x128xbf16>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%x : tensor<?x8x128xf32>) outs(%empty : tensor<?x8x128xbf16>) {
        ^bb0(%in: f32, %out: bf16):
          %t = arith.truncf %in : f32 to bf16
          linalg.yield %t : bf16
        } -> tensor<?x8x128xbf16>
      attn.yield %y : tensor<?x8x128xbf16>
    }
    key(%x : tensor<?x8x128xbf16>, %w = %weight : tensor<128xf32>) {
      %y = attn.rms_norm %x, %w eps 1.0e-6 : tensor<?x8x128xbf16>, tensor<128xf32>
      attn.yield %y : tensor<?x8x128xbf16>
    }
    rows(%rows)
    : tensor<?x8x128xbf16>, tensor<?x8x128xf32>, !cache, tensor<?xi32>
  return %c : !cache
}

// CHECK-LABEL: func.func @paged
// CHECK: attn.attention %{{.*}}, %{{.*}} rows(%{{.*}}) scale 0.088387999999999994 mask <k <= q + kv_len - q_len>
// CHECK-SAME: : tensor<?x32x128xbf16>, !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>, tensor<?xi32> -> tensor<?x32x128xf32>
func.func @paged(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x32x128xf32> {
  %o = attn.attention %q, %cache mask <causal> rows(%rows) scale 0.088388
    : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xf32>
  return %o : tensor<?x32x128xf32>
}

// CHECK-LABEL: func.func @dense_with_lse
// CHECK: %{{.*}}, %{{.*}} = attn.attention %{{.*}}, %{{.*}}, %{{.*}} rows(%{{.*}}) kv_rows(%{{.*}}) scale 1.250000e-01
// CHECK-SAME: : tensor<?x9x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x9x64xf32>, tensor<?x9xf32>
func.func @dense_with_lse(%q: tensor<?x9x64xf32>, %k: tensor<?x3x64xf32>, %v: tensor<?x3x64xf32>,
                          %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> (tensor<?x9x64xf32>, tensor<?x9xf32>) {
  %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125
    : tensor<?x9x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>, tensor<?xi32>, tensor<?xi32>
    -> tensor<?x9x64xf32>, tensor<?x9xf32>
  return %o, %lse : tensor<?x9x64xf32>, tensor<?x9xf32>
}

// CHECK-LABEL: func.func @all_regions
// CHECK: attn.attention {{.*}} sinks(%{{.*}} : tensor<32xf32>) bitmap(%{{.*}} : tensor<?xi8>, %{{.*}} : tensor<?xi64>)
// CHECK-SAME: query(%x: tensor<?x32x128xbf16>, %[[COS:[^ :]+]] = %{{.*}} : tensor<?x64xf32>, {{.*}}) {
// CHECK:   attn.rope %x, %[[COS]]
// CHECK: } score(%s, %q, %k, %h, %b, %[[T:[^ :]+]] = %{{.*}} : tensor<32xf32>) {
// CHECK:   attn.lookup %[[T]][%h] : tensor<32xf32> -> f32
// CHECK:   attn.position %q
// CHECK: } epilogue(%o, %q, %h, %d, %[[G:[^ :]+]] = %{{.*}} : tensor<?x32x128xf16>, %{{.*}} = %{{.*}} : f32) {
// CHECK:   %[[TOKEN:[^ :]+]] = attn.token %q
// CHECK:   attn.lookup %[[G]][%[[TOKEN]], %h, %d] : tensor<?x32x128xf16> -> f32
// CHECK: } {tag = "kept"} : tensor<?x32x128xbf16>
func.func @all_regions(%q: tensor<?x32x128xbf16>, %cache: !cache, %rows: tensor<?xi32>, %cos: tensor<?x64xf32>,
                       %sin: tensor<?x64xf32>, %sinks: tensor<32xf32>, %bits: tensor<?xi8>, %starts: tensor<?xi64>,
                       %slopes: tensor<32xf32>, %gate: tensor<?x32x128xf16>, %gain: f32) -> tensor<?x32x128xbf16> {
  %o = attn.attention %q, %cache rows(%rows) scale 0.088388
    epilogue(%o, %qi, %h, %d, %g = %gate : tensor<?x32x128xf16>, %f = %gain : f32) {
      %t = attn.token %qi
      %x = attn.lookup %g[%t, %h, %d] : tensor<?x32x128xf16> -> f32
      %y = arith.mulf %o, %x : f32
      %z = arith.mulf %y, %f : f32
      attn.yield %z : f32
    }
    score(%s, %qi, %ki, %h, %b, %table = %slopes : tensor<32xf32>) {
      %m = attn.lookup %table[%h] : tensor<32xf32> -> f32
      %p = attn.position %qi
      %d = arith.subi %p, %ki : i32
      %f = arith.sitofp %d : i32 to f32
      %bias = arith.mulf %m, %f : f32
      %r = arith.subf %s, %bias : f32
      attn.yield %r : f32
    }
    query(%x : tensor<?x32x128xbf16>, %c = %cos : tensor<?x64xf32>, %s = %sin : tensor<?x64xf32>,
          %r = %rows : tensor<?xi32>, %kv = %cache : !cache) {
      %y = attn.rope %x, %c, %s rows(%r) of %kv half_split
        : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
      attn.yield %y : tensor<?x32x128xbf16>
    }
    bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)
    sinks(%sinks : tensor<32xf32>)
    {tag = "kept"}
    : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
  return %o : tensor<?x32x128xbf16>
}

// CHECK-LABEL: func.func @merge
// CHECK: attn.merge (%{{.*}}, %{{.*}}), (%{{.*}}, %{{.*}}) : tensor<?x32x128xbf16>, tensor<?x32xf32>
func.func @merge(%oa: tensor<?x32x128xbf16>, %la: tensor<?x32xf32>, %ob: tensor<?x32x128xbf16>, %lb: tensor<?x32xf32>)
    -> (tensor<?x32x128xbf16>, tensor<?x32xf32>) {
  %o, %lse = attn.merge (%oa, %la), (%ob, %lb) : tensor<?x32x128xbf16>, tensor<?x32xf32>
  return %o, %lse : tensor<?x32x128xbf16>, tensor<?x32xf32>
}

// CHECK-LABEL: func.func @rope
// CHECK: attn.rope %{{.*}}, %{{.*}}, %{{.*}} rows(%{{.*}}) of %{{.*}} half_split : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !attn.paged_kv
// CHECK: attn.rope %{{.*}}, %{{.*}}, %{{.*}} positions(%{{.*}}) interleaved : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi64>
func.func @rope(%x: tensor<?x32x128xbf16>, %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>, %rows: tensor<?xi32>,
                %cache: !cache, %p: tensor<?xi64>) -> tensor<?x32x128xbf16> {
  %y = attn.rope %x, %cos, %sin rows(%rows) of %cache half_split
    : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
  %z = attn.rope %y, %cos, %sin positions(%p) interleaved : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi64>
  return %z : tensor<?x32x128xbf16>
}

// CHECK-LABEL: func.func @rms_norm
// CHECK: attn.rms_norm %{{.*}}, %{{.*}} eps 1.000000e-05 : tensor<?x32x128xbf16>, tensor<128xf32>
func.func @rms_norm(%x: tensor<?x32x128xbf16>, %weight: tensor<128xf32>) -> tensor<?x32x128xbf16> {
  %y = attn.rms_norm %x, %weight eps 1.0e-5 : tensor<?x32x128xbf16>, tensor<128xf32>
  return %y : tensor<?x32x128xbf16>
}

// CHECK-LABEL: func.func @bounds()
// CHECK-SAME: attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>
func.func @bounds() attributes {attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>} { return }

// CHECK-LABEL: func.func @bounds_with_tokens()
// CHECK-SAME: attn.bounds = #attn.bounds<batch 64, q_len 512, kv_len 8192, tokens 2048>
func.func @bounds_with_tokens() attributes {attn.bounds = #attn.bounds<batch 64, q_len 512, kv_len 8192, tokens 2048>} {
  return
}
