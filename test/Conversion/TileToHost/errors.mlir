// What has no lowering, and what is missing.
// RUN: pagefold-opt %s --tile-to-host -split-input-file -verify-diagnostics

!kv = !tile.kv<2 heads, 64 x 64, f32>
func.func @no_schedule(%rows: memref<?xi32>, %x: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.dense %x, %x rows(%rows) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  // expected-error@+1 {{expects a schedule: tile-select-schedule should have set it}}
  tile.space of %batch, %kv group 1 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

func.func @effect(%x: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  // expected-error@+1 {{has no lowering to the host}}
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// Keys and values, batches and masks must come from their ops: the lowering reads what these bind.
!kv = !tile.kv<2 heads, 64 x 64, f32>
func.func @kv_argument(%kv: !kv, %rows: memref<?xi32>, %x: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  // expected-error@+1 {{expects its '!tile.kv<2 heads, 64 x 64, f32>' to come from an op of this function, got an argument}}
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  return
}

// -----

!kv = !tile.kv<2 heads, 64 x 64, f32>
func.func @mask_argument(%mask: !tile.mask, %rows: memref<?xi32>, %x: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.dense %x, %x rows(%rows) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  tile.space of %batch, %kv group 1 schedule <dot, q_tile 4, kv_tile 64, splits 1> {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{expects its '!tile.mask' to come from an op of this function, got an argument}}
    %v = tile.visits %item mask(%mask)
  } : !kv
  return
}
