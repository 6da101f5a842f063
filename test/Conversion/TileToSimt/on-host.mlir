// Simt kernels that the host plays: a worker draws threads, their memory is shared by those that it plays, and the error
// word lies in the workspace.
// RUN: pagefold-opt %s --tile-to-simt --simt-on-host --canonicalize --cse | FileCheck %s

!rows = !tile.tile<q x 64, f32>

// CHECK-NOT: gpu.
// CHECK: func.func @f_k0(%{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?x2x64xf32>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %[[TICKET:.*]]: memref<1xi64>)
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
// What a thread has for itself, a worker has once.
// CHECK: func.func @merge_k0(
// CHECK: memref.alloca() {{.*}} : memref<64xf32>
// CHECK: scf.while
// CHECK: tile.plan @f {{.*}} kernels = [{op = "tile.rows", symbol = "f_k0", workers = "all"}]
func.func @f(%x: memref<?x2x64xf32>, %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  tile.rows %x into %out {
  ^bb0(%r: !rows):
    tile.yield %r : !rows
  } : memref<?x2x64xf32>, memref<?x2x64xf32>
  return
}

func.func @merge(%parts: memref<4x?x2x66xf32>, %rows: memref<?xi32>, %k: memref<?x2x64xf32>, %out: memref<?x2x64xf32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.dense %k, %k rows(%rows) : memref<?x2x64xf32>, memref<?x2x64xf32>, memref<?xi32> -> !tile.kv<2 heads, 64 x 64, f32>
  %batch = tile.batch rows(%rows) of %kv tokens(%out) : memref<?xi32>, !tile.kv<2 heads, 64 x 64, f32>, memref<?x2x64xf32>
  tile.merge_splits %parts of %batch into %out {
  ^bb0(%o: f32, %q: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<4x?x2x66xf32>, memref<?x2x64xf32>
  return
}
