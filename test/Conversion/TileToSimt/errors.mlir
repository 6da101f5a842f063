// A schedule of the other target, none at all, and an op without a lowering.
// RUN: pagefold-opt %s --tile-to-simt --split-input-file --verify-diagnostics

!kv = !tile.kv<2 heads, 64 x 64, f32>
func.func @dot(%x: memref<?x2x64xf32>, %rows: memref<?xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>, tile.args = []} {
  %kv = tile.dense %x, %x rows(%rows) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  // expected-error@+1 {{expects a schedule of the form simt on this target, got dot: tile-select-schedule chooses one by its option target}}
  tile.space of %batch, %kv group 1 schedule <dot, q_tile 1, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 64 x 64, f32>
func.func @none(%x: memref<?x2x64xf32>, %rows: memref<?xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>, tile.args = []} {
  %kv = tile.dense %x, %x rows(%rows) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  // expected-error@+1 {{expects a schedule: tile-select-schedule should have set it}}
  tile.space of %batch, %kv group 1 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>, tile.args = []} {
  // expected-error@+1 {{has no lowering to the GPU}}
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}
