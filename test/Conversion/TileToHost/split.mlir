// Splits: items store states, a kernel merges them in the order of their numbers.
// RUN: pagefold-opt %s --pagefold-host="splits=3" | FileCheck %s

!q = tensor<?x2x64xf32>

// CHECK-LABEL: func.func @f_k1(
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<3x?x2x66xf32>
// CHECK-NOT: arith.divf
// CHECK: return
// CHECK-LABEL: func.func @f_k2(
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args
// CHECK:   arith.maximumf
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args
// CHECK: arith.divf
// CHECK: tile.plan @f {{.*}}op = "tile.merge_splits", symbol = "f_k2", workers = "all"
func.func @f(%q: !q, %rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 512>} {
  %o = attn.attention %q, %q, %q rows(%rows) kv_rows(%rows) scale 0.125 mask <causal>
    : !q, !q, !q, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
