// The batch's check: one worker, what breaks the contract goes into the error word under a branch, pages are walked
// only where there are pages.
// RUN: pagefold-opt %s --tile-to-host --canonicalize | FileCheck %s

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>

// CHECK-LABEL: func.func @paged_k0(
// CHECK-SAME: %[[ROWS:arg0]]: memref<?xi32>, %[[PAGES:arg1]]: memref<?x16x2x64xf32>, %[[TABLE:arg2]]: memref<?x?xi32>, %[[LENS:arg3]]: memref<?xi32>, %{{.*}}: memref<?x2x64xf32>, %[[COS:arg5]]: memref<?x32xf32>, %[[WORK:arg6]]: memref<?xi8>
// CHECK-DAG: %[[WORD:.*]] = memref.view %[[WORK]][%c0][] : memref<?xi8> to memref<4xi64>
// CHECK-DAG: %[[EXTENTS:.*]] = memref.view %[[WORK]][%c256][] : memref<?xi8> to memref<4x4xi32>
// CHECK: scf.for %[[R:.*]] = %c0 to
// CHECK:   memref.load %[[ROWS]][%[[R]]]
// CHECK:   memref.load %[[LENS]][%[[R]]]
// The table's ids are compared with the pool's pages, for as many columns as the length needs.
// CHECK:   scf.for %[[C:.*]] = %c0 to %{{.*}} step %c1 iter_args(
// CHECK:     memref.load %[[TABLE]][%[[R]], %[[C]]]
// The first finding wins: the word is claimed only where there is a finding and nobody has it.
// CHECK:   scf.if
// CHECK:   %[[TAKEN:.*]] = memref.load %[[WORD]][%c0]
// CHECK:   %[[FREE:.*]] = arith.cmpi eq, %[[TAKEN]], %c0_i64
// CHECK:   scf.if %[[FREE]]
// CHECK:   memref.generic_atomic_rmw %[[WORD]][%c0]
// CHECK:   scf.if
// The reason comes last, with release.
// CHECK:   memref.store %{{.*}}, %[[WORD]][%c2]
// CHECK:   memref.store %{{.*}}, %[[WORD]][%c3]
// CHECK:   memref.generic_atomic_rmw %[[WORD]][%c1]
// CHECK-COUNT-3: memref.store %{{.*}}, %[[EXTENTS]]
// CHECK: return
// CHECK: tile.plan @paged {{.*}} kernels = [{op = "tile.batch", symbol = "paged_k0", workers = "one"}]
func.func @paged(%rows: memref<?xi32>, %pages: memref<?x16x2x64xf32>, %table: memref<?x?xi32>, %lens: memref<?xi32>,
                 %x: memref<?x2x64xf32>, %cos: memref<?x32xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %pages, %pages table(%table) lens(%lens)
    : memref<?x16x2x64xf32>, memref<?x16x2x64xf32>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%rows) of %kv tokens(%x) positions(%cos)
    : memref<?xi32>, !kv, memref<?x2x64xf32>, memref<?x32xf32>
  return
}

// CHECK-LABEL: func.func @dense_k0(
// CHECK: scf.for %[[R:.*]] = %c0 to
// One loop over the requests, none inside.
// CHECK-NOT: scf.for
// CHECK-COUNT-3: memref.store {{.*}} : memref<4x4xi32>
// CHECK: return
func.func @dense(%rows: memref<?xi32>, %x: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.dense %x, %x rows(%rows)
    : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !tile.kv<2 heads, 64 x 64, f32>
  %batch = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !tile.kv<2 heads, 64 x 64, f32>, memref<?x2x64xf32>
  return
}
