// The row streaming: which decode spaces it takes up to its limits, which it refuses beyond them and why, and what the options change.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda | FileCheck %s
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --remarks-filter=tile-select-schedule --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK
// RUN: sed '/^.. REFUSED/,$d' %s > %t-taken.mlir
// RUN: pagefold-opt %t-taken.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda q-tile=8 kv-tile=16" | FileCheck %s --check-prefix=TILES
// RUN: pagefold-opt %t-taken.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=pipelined" | FileCheck %s --check-prefix=PIPELINED
// RUN: pagefold-opt %t-taken.mlir --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=streaming" | FileCheck %s --check-prefix=FORM

// 4 tokens x group 4 are 16 packed rows, the most.
// CHECK-LABEL: func.func @speculative
// CHECK: schedule <streaming, q_tile 16, kv_tile 16, splits 1>
// FORM-LABEL: func.func @speculative
// FORM: schedule <streaming, q_tile 16, kv_tile 16, splits 1>
// TILES-LABEL: func.func @speculative
// TILES: schedule <streaming, q_tile 8, kv_tile 16, splits 1>
// PIPELINED-LABEL: func.func @speculative
// PIPELINED: schedule <pipelined, q_tile 128, kv_tile 128, splits 16>
!p16 = !attn.paged_kv<2 heads, 128 x 128, bf16, page 16>
func.func @speculative(%q: tensor<?x8x128xbf16>, %k: tensor<?x16x2x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 64, q_len 4, kv_len 8192>} {
  %cache = attn.cache %k, %k table(%table) lens(%lens) layout(nhd) : tensor<?x16x2x128xbf16>, tensor<?x16x2x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !p16
  %o = attn.attention %q, %cache rows(%rows) scale 0.0883 mask <causal> : tensor<?x8x128xbf16>, !p16, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// 8 rows of 256 have room, 16 have not (below).
// CHECK-LABEL: func.func @eight_wide_rows
// CHECK: schedule <streaming, q_tile 16, kv_tile 16, splits 1>
// TILES-LABEL: func.func @eight_wide_rows
// TILES: schedule <streaming, q_tile 8, kv_tile 16, splits 1>
func.func @eight_wide_rows(%q: tensor<?x16x256xf16>, %k: tensor<?x2x256xf16>, %rows: tensor<?xi32>) -> tensor<?x16x256xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.0625 mask <causal>
    : tensor<?x16x256xf16>, tensor<?x2x256xf16>, tensor<?x2x256xf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x16x256xf16>
  return %o : tensor<?x16x256xf16>
}

// Pages of any size.
// CHECK-LABEL: func.func @short_pages
// CHECK: schedule <streaming, q_tile 16, kv_tile 16, splits 1>
!p1 = !attn.paged_kv<2 heads, 128 x 128, bf16, page 1>
func.func @short_pages(%q: tensor<?x8x128xbf16>, %k: tensor<?x1x2x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 64, q_len 1, kv_len 8192>} {
  %cache = attn.cache %k, %k table(%table) lens(%lens) layout(nhd) : tensor<?x1x2x128xbf16>, tensor<?x1x2x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !p1
  %o = attn.attention %q, %cache rows(%rows) scale 0.0883 mask <causal> : tensor<?x8x128xbf16>, !p1, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// REFUSED: by one row at least.

// CHECK-LABEL: func.func @short_pages_of_bytes
// CHECK: schedule <streaming, q_tile 16, kv_tile 32, splits 1>
!f8p12 = !attn.paged_kv<2 heads, 128 x 128, f8E4M3FN, page 12>
func.func @short_pages_of_bytes(%q: tensor<?x8x128xbf16>, %cache: !f8p12, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal> : tensor<?x8x128xbf16>, !f8p12, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// CHECK-LABEL: func.func @five_tokens
// CHECK: schedule <pipelined,
// REMARK: Function=five_tokens | Reason="20 rows, it takes at most 16", Remark="row streaming rejected"
func.func @five_tokens(%q: tensor<?x8x128xbf16>, %k: tensor<?x16x2x128xbf16>, %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %rows: tensor<?xi32>)
    -> tensor<?x8x128xbf16> attributes {attn.bounds = #attn.bounds<batch 64, q_len 5, kv_len 8192>} {
  %cache = attn.cache %k, %k table(%table) lens(%lens) layout(nhd) : tensor<?x16x2x128xbf16>, tensor<?x16x2x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> !p16
  %o = attn.attention %q, %cache rows(%rows) scale 0.0883 mask <causal> : tensor<?x8x128xbf16>, !p16, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// The states of 16 rows of 256 leave no room for two slices a warp.
// CHECK-LABEL: func.func @wide_rows
// CHECK: schedule <pipelined,
// REMARK: Function=wide_rows | Reason="its rings and states do not fit in shared memory", Remark="row streaming rejected"
func.func @wide_rows(%q: tensor<?x32x256xbf16>, %k: tensor<?x2x256xbf16>, %rows: tensor<?xi32>) -> tensor<?x32x256xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.0625 mask <causal>
    : tensor<?x32x256xbf16>, tensor<?x2x256xbf16>, tensor<?x2x256xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x32x256xbf16>
  return %o : tensor<?x32x256xbf16>
}

// 2^31 slices.
// CHECK-LABEL: func.func @long_line
// CHECK: schedule <pipelined,
// REMARK: Function=long_line | Reason="more slices of keys than 32 bits count", Remark="row streaming rejected"
func.func @long_line(%q: tensor<?x1x64xbf16>, %k: tensor<?x1x64xbf16>, %rows: tensor<?xi32>) -> tensor<?x1x64xbf16>
    attributes {attn.bounds = #attn.bounds<batch 16, q_len 1, kv_len 2147483647>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x1x64xbf16>
  return %o : tensor<?x1x64xbf16>
}

// CHECK-LABEL: func.func @bitmap
// CHECK: schedule <simt,
// REMARK: Function=bitmap | Reason="the mask is a bitmap", Remark="row streaming rejected"
func.func @bitmap(%q: tensor<?x1x64xbf16>, %k: tensor<?x1x64xbf16>, %rows: tensor<?xi32>, %bits: tensor<?xi8>, %starts: tensor<?xi64>)
    -> tensor<?x1x64xbf16> attributes {attn.bounds = #attn.bounds<batch 16, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)
    : tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x1x64xbf16>
  return %o : tensor<?x1x64xbf16>
}
