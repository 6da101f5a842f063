// Kernels on rows: a thread's tickets are heads of tokens, the first is its number in the grid, the next a grid further.
// RUN: pagefold-opt %s --tile-to-simt --canonicalize --cse | FileCheck %s

!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>

// CHECK-LABEL: gpu.module @kernels
// CHECK: func.func @append_k0(
// CHECK-SAME: %[[X:arg0]]: memref<?x2x64xf32>, %[[ROWS:arg1]]: memref<?xi32>, %[[PAGES:arg2]]: memref<?x16x2x64xbf16>, %[[TABLE:arg3]]: memref<?x?xi32>, %[[LENS:arg4]]: memref<?xi32>, %{{.*}}: memref<?xi8>, %[[WORD:arg6]]: memref<4xi64>
// CHECK-SAME: nvvm.reqntid = array<i32: 128>
// CHECK: %[[CTA:.*]] = gpu.block_id x
// CHECK: %[[CTAS:.*]] = gpu.grid_dim x
// CHECK: %[[BASE:.*]] = arith.muli %[[CTA]], %c128
// CHECK: %[[LANE:.*]] = gpu.thread_id x
// CHECK: %[[THREAD:.*]] = arith.addi %[[BASE]], %[[LANE]]
// CHECK: %[[THREADS:.*]] = arith.muli %[[CTAS]], %c128
// CHECK: scf.while (%{{.*}} = %c0, %{{.*}} = %c0, %{{.*}} = %[[THREAD]])
// No batch kernel was before: the kernel reads row offsets and lengths, and its first thread reports.
// CHECK: memref.load %[[ROWS]]
// CHECK: memref.load %[[LENS]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK: scf.if %[[FIRST]]
// CHECK: memref.generic_atomic_rmw %[[WORD]][%c0]
// CHECK: scf.condition
// The page is looked at where it is used.
// CHECK: %[[ID:.*]] = memref.load %[[TABLE]]
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ID]]
// CHECK: arith.cmpi slt, %[[PAGE]], %c0
// CHECK: arith.cmpi sge, %[[PAGE]], %{{.*}}
// CHECK: scf.if
// CHECK: memref.generic_atomic_rmw %[[WORD]][%c0]
// CHECK: } else {
// CHECK: vector.store %{{.*}}, %[[PAGES]][%[[PAGE]],
// CHECK: arith.addi %{{.*}}, %[[THREADS]]
// CHECK-NOT: gpu.module
func.func @append(%x: memref<?x2x64xf32>, %rows: memref<?xi32>, %pages: memref<?x16x2x64xbf16>, %table: memref<?x?xi32>,
                  %lens: memref<?xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xf32>
  tile.append %x, %x to %kv of %batch key {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } value {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>, !kv
  return
}

// A row of 64 is four vectors at constant offsets, so that its scratch becomes registers.
// CHECK-LABEL: func.func @rows_k0(
// CHECK: %[[ROW:.*]] = memref.alloca() {alignment = 16 : i64} : memref<64xf32>
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c2
// CHECK: %[[TOKEN:.*]] = arith.divui %{{.*}}, %c2
// CHECK-COUNT-4: vector.load %arg0[%[[TOKEN]], %[[HEAD]], %{{.*}}] : memref<?x2x64xf32>, vector<16xf32>
// CHECK-COUNT-4: vector.store %{{.*}}, %arg1[%[[TOKEN]], %[[HEAD]], %{{.*}}] : memref<?x2x64xf32>, vector<16xf32>
func.func @rows(%x: memref<?x2x64xf32>, %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.rows %x into %out {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}

// CHECK-LABEL: func.func @merge_k0(
// CHECK: arith.divui %{{.*}}, %c2
// CHECK: math.log
func.func @merge(%a: memref<?x2x64xf32>, %la: memref<?x2xf32>, %out: memref<?x2x64xf32>, %lse: memref<?x2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.merge (%a, %la), (%a, %la) into %out, %lse : memref<?x2x64xf32>, memref<?x2xf32>, memref<?x2x64xf32>,
    memref<?x2xf32>, memref<?x2x64xf32>, memref<?x2xf32>
  return
}

// Into a cache with scales: over the scale of the row's head, and saturated, since f8E4M3FN has no infinities.
// CHECK-LABEL: func.func @scaled_k0(
// CHECK: memref.load %[[SCALES:arg5]][%{{.*}}] : memref<2xf32>
// CHECK: %[[LANES:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK: %[[X:.*]] = arith.divf %{{.*}}, %[[LANES]] : vector<16xf32>
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : vector<16xf32>
// CHECK: arith.cmpf olt, %{{.*}} : vector<16xf32>
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf8E4M3FN>
// CHECK: vector.store %{{.*}}, %arg2[%{{.*}}] : memref<?x16x2x64xf8E4M3FN>, vector<16xf8E4M3FN>
!scaled = !tile.kv<2 heads, 64 x 64, f8E4M3FN, page 16>
func.func @scaled(%x: memref<?x2x64xf32>, %rows: memref<?xi32>, %pages: memref<?x16x2x64xf8E4M3FN>,
                  %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: memref<2xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens) scales(%scale, %scale : memref<2xf32>, memref<2xf32>)
    : memref<?x16x2x64xf8E4M3FN>, memref<?x16x2x64xf8E4M3FN>, memref<?x?xi32>, memref<?xi32> -> !scaled
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !scaled, memref<?x2x64xf32>
  tile.append %x, %x to %kv of %batch key {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } value {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>, !scaled
  return
}
