// Options that make no schedule, and a function without declared maxima.
// RUN: not pagefold-opt %s --tile-select-schedule="form=fast" --split-input-file 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not pagefold-opt %s --tile-select-schedule="q-tile=17" --split-input-file 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not pagefold-opt %s --tile-select-schedule --split-input-file 2>&1 | FileCheck %s --check-prefix=BOUNDS

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>

// FORM: error: 'tile.space' op expects the option form to be outer, dot or simt, got fast
// RANGE: error: 'tile.space' op cannot take this schedule: C1: expects q_tile from 1 to 16 for dot, got 17
// BOUNDS-NOT: @decode
func.func @decode(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>

// BOUNDS: error: 'tile.space' op expects attn.bounds on its function, to choose a schedule from
func.func @no_bounds(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}
