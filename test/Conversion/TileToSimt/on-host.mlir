// Simt kernels that the host plays: a worker draws threads, their memory is shared by those that it plays, and the error
// word lies in the workspace.
// RUN: pagefold-opt %s --tile-to-simt --simt-on-host --canonicalize --cse | FileCheck %s

!rows = !tile.tile<q x 64, f32>

// CHECK-NOT: gpu.
// CHECK: func.func @f_k0(%{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %[[TICKET:.*]]: memref<1xi64>)
// CHECK: memref.alloca
// CHECK: scf.while
// CHECK: %[[DRAWN:.*]] = memref.atomic_rmw addi %{{.*}}, %[[TICKET]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[DRAWN]]
// Two CTAs of 128.
// CHECK: arith.cmpi slt, %[[INDEX]], %c256
// CHECK: ^bb0(%[[THREAD:.*]]: index):
// CHECK: %[[LANE:.*]] = arith.remui %[[THREAD]], %c128
// CHECK: %[[CTA:.*]] = arith.divui %[[THREAD]], %c128
// CHECK: %[[FIRST:.*]] = arith.muli %[[CTA]], %c128
// CHECK: %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[LANE]]
// CHECK: scf.while (%{{.*}} = %[[NUMBER]])
// CHECK: arith.addi %{{.*}}, %c256
// CHECK: tile.plan @f {{.*}} kernels = [{op = "tile.rows", symbol = "f_k0", workers = "all"}]
func.func @f(%x: memref<?x2x64xf32>, %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.rows %x into %out {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}
