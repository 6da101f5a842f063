// The first row of the table whose condition holds decides; options replace single fields; the remarks say why.
// RUN: pagefold-opt %s --tile-select-schedule | FileCheck %s
// RUN: pagefold-opt %s --tile-select-schedule="kv-tile=64 splits=3" | FileCheck %s --check-prefix=FIELDS
// RUN: pagefold-opt %s --tile-select-schedule="form=outer" | FileCheck %s --check-prefix=OUTER
// RUN: pagefold-opt %s --tile-select-schedule="form=dot q-tile=16" | FileCheck %s --check-prefix=DOT
// RUN: pagefold-opt %s --tile-select-schedule=form=simt --remarks-filter=tile-select-schedule --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=SIMT
// RUN: pagefold-opt %s --tile-select-schedule --remarks-filter=tile-select-schedule --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>

// 1 row x group 4: few rows.
// CHECK-LABEL: func.func @decode
// CHECK: tile.space {{.*}} schedule <dot, q_tile 4, kv_tile 256, splits 1>
// FIELDS-LABEL: func.func @decode
// FIELDS: schedule <dot, q_tile 4, kv_tile 64, splits 3>
// OUTER-LABEL: func.func @decode
// OUTER: schedule <outer, q_tile 16, kv_tile 128, splits 1>
// DOT-LABEL: func.func @decode
// DOT: schedule <dot, q_tile 16, kv_tile 256, splits 1>
// The GPU's threads, played: only when asked for.
// SIMT: Function=decode | Remark="#tile.schedule<simt, q_tile 1, kv_tile 16, splits 1> from row simt: only when asked for
// REMARK: [Passed] Schedule | Category:tile-select-schedule | Function=decode | Remark="#tile.schedule<dot, q_tile 4, kv_tile 256, splits 1> from row decode: few query rows
func.func @decode(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// 10 rows x 4: one tile of 48 rows, a multiple of the lanes.
// CHECK-LABEL: func.func @short
// CHECK: tile.space {{.*}} schedule <outer, q_tile 48, kv_tile 128, splits 1>
// DOT-LABEL: func.func @short
// DOT: schedule <dot, q_tile 16, kv_tile 256, splits 1>
// REMARK: [Passed] Schedule | Category:tile-select-schedule | Function=short | Remark="#tile.schedule<outer, q_tile 48, kv_tile 128, splits 1> from row short: one query tile holds all rows
// REMARK: [Analysis] Schedule | Category:tile-select-schedule | Function=short | Reason="40 rows, it takes at most 8", Remark="row decode rejected"
func.func @short(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) attributes {attn.bounds = #attn.bounds<batch 4, q_len 10, kv_len 4096>} {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// CHECK-LABEL: func.func @prefill
// CHECK: tile.space {{.*}} schedule <outer, q_tile 96, kv_tile 128, splits 1>
// REMARK: Function=prefill | Remark="#tile.schedule<outer, q_tile 96, kv_tile 128, splits 1> from row prefill
// REMARK: Function=prefill | Reason="2048 rows, it takes at most 8", Remark="row decode rejected"
// REMARK: Function=prefill | Reason="2048 rows, it takes at most 96", Remark="row short rejected"
func.func @prefill(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) attributes {attn.bounds = #attn.bounds<batch 4, q_len 512, kv_len 4096>} {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// A schedule that is there stays, whatever the options say.
// CHECK-LABEL: func.func @kept
// CHECK: tile.space {{.*}} schedule <outer, q_tile 32, kv_tile 48, splits 2>
// FIELDS-LABEL: func.func @kept
// FIELDS: schedule <outer, q_tile 32, kv_tile 48, splits 2>
// REMARK-NOT: Function=kept
func.func @kept(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) attributes {attn.bounds = #attn.bounds<batch 4, q_len 512, kv_len 4096>} {
  tile.space of %batch, %kv group 4 schedule <outer, q_tile 32, kv_tile 48, splits 2> {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}
