// A space whose items are single rows: each thread folds one. The pages of an item's request are checked before it reads.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-simt --canonicalize --cse | FileCheck %s
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=4" --tile-visit-lists --tile-split-kv --tile-to-simt --canonicalize --cse | FileCheck %s --check-prefix=SPLIT
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule="target=cuda splits=1" --tile-visit-lists --tile-to-simt="counters" --canonicalize --cse | FileCheck %s --check-prefix=COUNTERS

!cache = !attn.paged_kv<1 heads, 64 x 64, f32, page 16>

// CHECK-LABEL: func.func @f_k0(
// CHECK-SAME: %[[ERROR:[^ :]*]]: memref<4xi64>)
// Scratch of the thread, small: state, query row, scores of one KV tile.
// CHECK-DAG: memref.alloca() {alignment = 16 : i64} : memref<1x64xf32>
// CHECK-DAG: memref.alloca() {alignment = 16 : i64} : memref<1x16xf32>
// CHECK: scf.while
// The walk over the table, then its report.
// CHECK: scf.for {{.*}} iter_args(
// CHECK: memref.load %{{.*}} : memref<?x?xi32
// CHECK: memref.generic_atomic_rmw %[[ERROR]][%c0]
// CHECK-NOT: memref.prefetch
// CHECK: vector.reduction <add>
// CHECK: tile.plan @f {{.*}} kernels = [{ctas = 1 : i64, op = "tile.space"

// SPLIT: func.func @f_k0(
// SPLIT: func.func @f_k1(
// SPLIT: tile.plan @f {{.*}} kernels = [{{.*}}op = "tile.space"{{.*}}op = "tile.merge_splits"

// COUNTERS: memref.view %{{.*}}[%c64][] : memref<?xi8> to memref<8xi64>
// COUNTERS: memref.atomic_rmw addi
// COUNTERS: tile.plan @f {{.*}} counters = 64
func.func @f(%q: tensor<?x2x64xf32>, %rows: tensor<?xi32>, %cache: !cache) -> tensor<?x2x64xf32>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %o = attn.attention %q, %cache rows(%rows) scale 0.125 mask <causal>
    : tensor<?x2x64xf32>, !cache, tensor<?xi32> -> tensor<?x2x64xf32>
  return %o : tensor<?x2x64xf32>
}
