// Attention: where the mask's code stands, what counters cost, and that neither form looks at more than it must.
// RUN: pagefold-opt %s --pagefold-host="form=dot" | FileCheck %s --check-prefixes=MASK,DOT,PLAIN
// RUN: pagefold-opt %s --pagefold-host="form=outer" | FileCheck %s --check-prefixes=MASK,OUTER,PLAIN
// RUN: pagefold-opt %s --pagefold-host="form=dot counters" | FileCheck %s --check-prefix=COUNTERS
// RUN: pagefold-opt %s --pagefold-host="online-softmax=false" | FileCheck %s --check-prefix=STANDARD

!q = tensor<?x2x64xbf16>

// Tickets, then per item the visit list: ranges of tiles with a kind each.
// MASK-LABEL: func.func @causal_k1(
// MASK: memref.atomic_rmw addi
// Without counters that is the one atomic.
// PLAIN-NOT: memref.atomic_rmw
// MASK: %[[KIND:.*]] = memref.load %[[LIST:view.*]][%[[RANGE:.*]], %c2] : memref<2x3xi64>
// MASK: %[[INDEX:.*]] = arith.index_cast %[[KIND]] : i64 to index
// MASK: %[[PARTIAL:.*]] = arith.cmpi eq, %[[INDEX]], %c1 : index
// MASK: scf.for
// DOT keeps the keys where they lie, OUTER copies them once a tile.
// DOT: vector.load {{.*}} vector<16xbf16>
// DOT: math.fma
// DOT: vector.reduction <add>
// OUTER: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// OUTER: vector.store
// OUTER: math.fma
// The one comparison of keys with rows stands under the bit.
// MASK-NOT: arith.cmpi {{.*}} : vector<16xi32>
// MASK: scf.if %[[PARTIAL]] {
// MASK: arith.cmpi {{.*}} : vector<16xi32>
// MASK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// MASK-NOT: arith.cmpi {{.*}} : vector<16xi32>
// MASK: math.fma
// MASK: tile.plan @causal

// COUNTERS-LABEL: func.func @causal_k1(
// COUNTERS: memref.view %{{.*}}[%c64][] : memref<?xi8> to memref<8xi64>
// COUNTERS: memref.atomic_rmw addi %{{.*}}, %{{.*}}[%c0] : (i64, memref<1xi64>) -> i64
// COUNTERS: memref.atomic_rmw addi %{{.*}}, %{{.*}}[%c0] : (i64, memref<8xi64>) -> i64
// COUNTERS: memref.atomic_rmw addi %{{.*}}, %{{.*}}[%c1] : (i64, memref<8xi64>) -> i64
// COUNTERS: scf.if
// COUNTERS: memref.atomic_rmw addi %{{.*}}, %{{.*}}[%c3] : (i64, memref<8xi64>) -> i64
// COUNTERS: tile.plan @causal {{.*}} counters = 64

// The standard form keeps a slab of scores for each item in the workspace: 6 items x 4 rows x 512 keys here.
// STANDARD-LABEL: func.func @causal_k1(
// STANDARD: memref.view %{{.*}} : memref<?xi8> to memref<[[ITEMS:[0-9]+]]x{{.*}}xf32>
// STANDARD-NOT: arith.cmpi eq, %{{.*}} : i1
// STANDARD: tile.plan @causal
func.func @causal(%q: !q, %k: tensor<?x1x64xbf16>, %rows: tensor<?xi32>, %kv_rows: tensor<?xi32>) -> !q
    attributes {attn.bounds = #attn.bounds<batch 1, q_len 2, kv_len 512>} {
  %o = attn.attention %q, %k, %k rows(%rows) kv_rows(%kv_rows) scale 0.125 mask <causal>
    : !q, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?xi32>, tensor<?xi32> -> !q
  return %o : !q
}
