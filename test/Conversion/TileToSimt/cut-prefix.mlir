// The cut is the work of one CTA whose threads agree: warps take requests, their lanes columns. The host plays it as one
// thread, and has it as one worker of its own.
// RUN: pagefold-opt %s --tile-to-simt --canonicalize --cse | FileCheck %s
// RUN: pagefold-opt %s --tile-to-simt --simt-on-host --canonicalize --cse | FileCheck %s --check-prefix=PLAYED
// RUN: pagefold-opt %s --tile-to-host --canonicalize --cse | FileCheck %s --check-prefix=HOST

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!pages = memref<?x16x2x64xf32>

// CHECK: func.func @f_k0({{.*}}) attributes {nvvm.reqntid = array<i32: 1024>}
// CHECK-DAG: gpu.thread_id x
// CHECK-DAG: gpu.block_dim x
// CHECK-DAG: gpu.lane_id
// CHECK-DAG: gpu.subgroup_size
// The pages before the rows of every request, and the request with the first rows.
// CHECK: scf.for
// CHECK: gpu.subgroup_reduce minsi %{{.*}} uniform
// CHECK: gpu.barrier
// CHECK: gpu.subgroup_reduce minsi
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// Those that all have in common: what the lanes of a request find, then all.
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     arith.cmpi ne
// CHECK:   gpu.subgroup_reduce minsi
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: tile.plan @f {{.*}} kernels = [{ctas = 1 : i64, op = "tile.cut_prefix", {{.*}} threads = 1024 : i64}]

// PLAYED-NOT: gpu.
// PLAYED: arith.cmpi slt, %{{.*}}, %c1 : index
// PLAYED: tile.plan @f {{.*}} kernels = [{op = "tile.cut_prefix", symbol = "f_k0", workers = "all"}]

// HOST: tile.plan @f {{.*}} kernels = [{op = "tile.batch", symbol = "f_k0", workers = "one"}, {op = "tile.cut_prefix", symbol = "f_k1", workers = "one"}]
func.func @f(%k: !pages, %t: memref<?x?xi32>, %l: memref<?xi32>, %rows: memref<?xi32>, %q: memref<?x4x64xf32>, %n: memref<1xi32>)
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 16, kv_len 512>, tile.args = []} {
  %kv = tile.paged %k, %k table(%t) lens(%l) : !pages, !pages, memref<?x?xi32>, memref<?xi32> -> !kv
  %b = tile.batch rows(%rows) of %kv tokens(%q) : memref<?xi32>, !kv, memref<?x4x64xf32>
  %t1 = tile.workspace() bytes 128 : memref<1x32xi32>
  %l1 = tile.workspace() bytes 4 : memref<1xi32>
  %r1 = tile.workspace() bytes 8 : memref<2xi32>
  %t2 = tile.workspace() bytes 512 : memref<4x32xi32>
  %l2 = tile.workspace() bytes 16 : memref<4xi32>
  tile.cut_prefix %n of %b shared(%t1, %l1, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x32xi32>, memref<1xi32>, memref<2xi32>, memref<4x32xi32>, memref<4xi32>
  return
}
