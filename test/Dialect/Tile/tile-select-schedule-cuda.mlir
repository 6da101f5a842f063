// Target cuda: few rows are streamed, others pipelined, and what neither takes gets one thread a row; the remarks say why.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda | FileCheck %s
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda form=simt splits=1" | FileCheck %s --check-prefix=SIMT
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --remarks-filter=tile-select-schedule --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @prefill
// CHECK: tile.space {{.*}} schedule <pipelined, q_tile 128, kv_tile 128, splits 8>
// SIMT-LABEL: func.func @prefill
// SIMT: schedule <simt, q_tile 1, kv_tile 16, splits 1>
// REMARK: [Passed] Schedule | Category:tile-select-schedule | Function=prefill | Remark="#tile.schedule<pipelined, q_tile 128, kv_tile 128, splits 8> from row pipelined: 16-bit elements
func.func @prefill(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 4096, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// CHECK-LABEL: func.func @wide
// CHECK: tile.space {{.*}} schedule <pipelined, q_tile 128, kv_tile 64, splits 8>
// REMARK: Function=wide | Remark="#tile.schedule<pipelined, q_tile 128, kv_tile 64, splits 8> from row pipelined-wide
// REMARK: Function=wide | Reason="16384 rows, it takes at most 16", Remark="row streaming rejected"
// REMARK: Function=wide | Reason="head dimensions above 128", Remark="row pipelined rejected"
func.func @wide(%q: tensor<?x8x256xf16>, %k: tensor<?x2x256xf16>, %rows: tensor<?xi32>) -> tensor<?x8x256xf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 4096, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x256xf16>, tensor<?x2x256xf16>, tensor<?x2x256xf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x256xf16>
  return %o : tensor<?x8x256xf16>
}

// A cache of 8-bit floats.
// CHECK-LABEL: func.func @bytes
// REMARK: Function=bytes | Reason="keys are neither bf16 nor f16", Remark="row pipelined rejected"
// REMARK: Function=bytes | Reason="keys are neither bf16 nor f16", Remark="row pipelined-wide rejected"
!cache = !attn.paged_kv<2 heads, 128 x 128, f8E4M3FN, page 16>
func.func @bytes(%q: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 512, kv_len 4096>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, !cache, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// Few rows of many keys: split until every thread of a grid has some.
// CHECK-LABEL: func.func @floats
// CHECK: tile.space {{.*}} schedule <simt, q_tile 1, kv_tile 16, splits 16>
// REMARK: Function=floats | Remark="#tile.schedule<simt, q_tile 1, kv_tile 16, splits 16> from row simt
// REMARK: Function=floats | Reason="keys are of none of bf16, f16 and f8E4M3FN", Remark="row streaming rejected"
// REMARK: Function=floats | Reason="keys are not of 8 bits", Remark="row streaming-bytes rejected"
// REMARK: Function=floats | Reason="keys are neither bf16 nor f16", Remark="row pipelined rejected"
// REMARK: Function=floats | Reason="keys are neither bf16 nor f16", Remark="row pipelined-wide rejected"
// What nobody asked for is a fallback, with every reason.
// REMARK: [Missed] OneThreadARow | Category:tile-select-schedule | Function=floats | Reason="streaming: keys are of none of bf16, f16 and f8E4M3FN; streaming-bytes: keys are not of 8 bits; pipelined: keys are neither bf16 nor f16; pipelined-wide: keys are neither bf16 nor f16", Remark="the space has one thread a row, without rings of tiles and tensor cores"
func.func @floats(%q: tensor<?x8x128xf32>, %k: tensor<?x2x128xf32>, %rows: tensor<?xi32>) -> tensor<?x8x128xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xf32>, tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xf32>
  return %o : tensor<?x8x128xf32>
}

// One row x group 4.
// CHECK-LABEL: func.func @decode
// CHECK: tile.space {{.*}} schedule <streaming, q_tile 16, kv_tile 16, splits 1>
// SIMT-LABEL: func.func @decode
// SIMT: schedule <simt, q_tile 1, kv_tile 16, splits 1>
// REMARK: Function=decode | Remark="#tile.schedule<streaming, q_tile 16, kv_tile 16, splits 1> from row streaming: few query rows: every warp reads its share
// REMARK-NOT: Function=decode |
func.func @decode(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}

// One row x group 4 of a cache of 8-bit floats: a slice is of 32 keys.
// CHECK-LABEL: func.func @decode_bytes
// CHECK: tile.space {{.*}} schedule <streaming, q_tile 16, kv_tile 32, splits 1>
// REMARK: Function=decode_bytes | Remark="#tile.schedule<streaming, q_tile 16, kv_tile 32, splits 1> from row streaming-bytes
func.func @decode_bytes(%q: tensor<?x8x128xbf16>, %cache: !cache, %rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    : tensor<?x8x128xbf16>, !cache, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
