// Few query rows of dense keys: one role, a ring a warp, the line of slices, the fold, and the merge in two steps.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s
// The passes on steps leave the kernel as it is.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule=target=cuda --tile-visit-lists --tile-to-hopper --canonicalize --cse -o %t.mlir
// RUN: pagefold-opt %t.mlir --hopper-overlap-products --hopper-lazy-rescale -o %t-passes.mlir
// RUN: diff %t.mlir %t-passes.mlir

// Queries and results are accessed by pairs; keys and values come by maps of boxes of 16 rows; the workspace starts as zeros.
// CHECK: tile.plan @f {about = [{box_keys = 16 : i64, form = "streaming", space = {{.*}}, stages = 3 : i64}], args = [{access = "read", align = 4 : i64, dtype = "bf16", name = "arg0"
// CHECK-SAME: {access = "read", dtype = "bf16", name = "arg2"
// CHECK-SAME: {access = "write", align = 4 : i64, dtype = "bf16", name = "out0"
// CHECK-SAME: op = "tile.space", params = [
// CHECK-SAME: {arg = 2 : i64, box = [64, 16, 2, 1], dims = [{extent = 64 : i64}, {extent_of = 0 : i64, stride_of = 0 : i64}, {extent = 2 : i64, stride = 128 : i64}, {extent = 2 : i64, stride_of = 1 : i64}], element = "bf16", kind = "map", read_once}
// CHECK-SAME: {arg = 3 : i64, box = [64, 16, 2, 1]
// CHECK-SAME: {kind = "workspace", offset = 256 : i64}
// CHECK-SAME: threads = 256 : i64}]
// Packets: 132 CTAs x 4 packed rows x 32 lanes x 2 vectors.
// CHECK-SAME: workspace = 540928 : i64, workspace_head = 540928 : i64

// CHECK: hopper.kernel @f_k0(
// CHECK: %[[K:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 128, bf16 warps 8>
// CHECK-NEXT: %[[V:.*]] = hopper.alloc_ring readers 0 : <3 x 16 x 128, bf16 warps 8>
// Two states a warp: 4 rows of 132 words, one of them in the memory of its keys, and 12 words that say whose they are.
// CHECK-NEXT: %[[W:.*]] = hopper.alloc_words over %[[K]] : <53568>
// CHECK: stream warpgroups 2 registers 256 (%[[WG:.*]]: i32, %[[IN_WG:.*]]: i32)
// CHECK: %[[WARP:.*]] = arith.addi %{{.*}}, %[[IN_WG]]
// CHECK: %[[LANE:.*]] = hopper.lane

// The line: a request a lane, its slices for two heads; what this CTA and this warp have of it.
// CHECK: %[[SLICES:.*]] = hopper.warp_reduce sum %[[COUNTS:.*]]
// CHECK: %[[SEGMENTS:.*]] = hopper.warp_reduce sum %{{.*}}
// CHECK: %[[UP_TO:.*]] = hopper.warp_scan %[[COUNTS]]
// CHECK: %[[CTAS:.*]] = hopper.ctas
// CHECK-NEXT: arith.minsi %[[CTAS]], %c132
// Two places more for each segment, where lengths differ much.
// CHECK: %[[TWICE:.*]] = arith.muli %{{.*}}, %c2_i64
// CHECK: arith.cmpi sge, %{{.*}}, %[[TWICE]] : i64
// CHECK: %[[MORE:.*]] = arith.select %{{.*}}, %c2_i32, %c0_i32
// CHECK: %[[BESIDE:.*]] = arith.muli %[[SEGMENTS]], %[[MORE]]
// CHECK-NEXT: %[[HEAD:.*]] = arith.addi %[[SLICES]], %[[BESIDE]]
// CHECK-NEXT: %[[TOTAL:.*]] = arith.muli %[[HEAD]], %c2
// CHECK: %[[CTA:.*]] = hopper.cta
// CHECK: %[[BEGIN:.*]] = arith.minsi %[[TOTAL]], %{{.*}}

// No state yet, in each area of the warp.
// CHECK: hopper.store_words %c-1_i32, %[[W]]
// CHECK: hopper.sync_warp
// CHECK: scf.if

// The slice's request and head, and the first round of both rings: one lane fills, its own warp's.
// CHECK: arith.addi %[[UP_TO]], %{{.*}}
// CHECK: arith.addi %[[COUNTS]], %[[MORE]]
// CHECK: hopper.warp_reduce sum
// CHECK-COUNT-2: hopper.prefetch_map
// CHECK: scf.while
// CHECK: scf.if
// CHECK: %[[KEY:.*]] = hopper.shuffle
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[KEY]]
// CHECK: scf.if
// CHECK-NEXT: hopper.expect %[[K]][%[[T:.*]]] of %[[WARP]]
// CHECK-NEXT: hopper.fill %[[K]][%[[T]]] of %[[WARP]] from %{{.*}}[%c0_i32, %[[ROW]], %c0_i32, %{{.*}}] :
// CHECK-NEXT: hopper.expect %[[V]][%[[T]]] of %[[WARP]]
// CHECK-NEXT: hopper.fill %[[V]][%[[T]]] of %[[WARP]] from %{{.*}}[%c0_i32, %[[ROW]], %c0_i32, %{{.*}}] :

// Segment after segment: its queries, eight columns of a product each, and zeros where there is no such row.
// CHECK: scf.while
// CHECK-COUNT-16: hopper.load_pair {{.*}} : <bf16>, i64
// Slice after slice: scores in two chains.
// CHECK: scf.while
// CHECK: hopper.wait %[[K]][%[[TURN:.*]]] of %[[WARP]]
// CHECK-NEXT: %[[A0:.*]] = hopper.load_block %[[K]][%[[TURN]]] of %[[WARP]] row 0 column 0 :
// CHECK-NEXT: %[[A1:.*]] = hopper.load_block %[[K]][%[[TURN]]] of %[[WARP]] row 0 column 16 :
// CHECK-NEXT: %[[A2:.*]] = hopper.load_block %[[K]][%[[TURN]]] of %[[WARP]] row 0 column 32 :
// CHECK: hopper.load_block %[[K]][%[[TURN]]] of %[[WARP]] row 0 column 112 :
// CHECK-NEXT: %[[S0:.*]] = hopper.contract_block %[[A0]], %{{.*}} into %cst{{.*}} of bf16
// CHECK-NEXT: hopper.contract_block %[[A1]], %{{.*}} into %cst{{.*}} of bf16
// CHECK-NEXT: hopper.contract_block %[[A2]], %{{.*}} into %[[S0]] of bf16
// The mask, the maximum of eight lanes, the weights as a right block.
// CHECK: %[[VISIBLE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : vector<2xi32>
// CHECK: %[[SEEN:.*]] = arith.select %[[VISIBLE]], %{{.*}}, %{{.*}} : vector<2xi1>, vector<2xf32>
// CHECK: %[[MAX:.*]] = hopper.column_reduce max
// CHECK: hopper.approx ex2
// CHECK: hopper.approx ex2
// CHECK: hopper.round_pair
// CHECK: hopper.transpose_pairs
// CHECK: hopper.approx ex2
// CHECK: hopper.transpose_pairs
// Values: bits of keys past the length are cleared; the accumulator is rescaled on its way.
// CHECK: hopper.wait %[[V]][%[[TURN]]] of %[[WARP]]
// CHECK: %[[LOADED:.*]] = hopper.load_block %[[V]][%[[TURN]]] of %[[WARP]] row 0 column 0 transposed
// CHECK: hopper.load_block %[[V]][%[[TURN]]] of %[[WARP]] row 0 column 112 transposed
// CHECK: %[[PRESENT:.*]] = arith.andi %[[LOADED]], %[[BITS:.*]] : vector<4xi32>
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: hopper.contract_block %[[PRESENT]], %[[WEIGHTS:.*]] into %[[SCALED]]
// CHECK: hopper.contract_block
// All lanes have read the stage: the same one, a round later, is filled.
// CHECK: hopper.sync_warp
// CHECK: %[[LATER:.*]] = arith.addi %[[TURN]], %c3
// CHECK: hopper.expect %[[K]][%[[LATER]]] of %[[WARP]]
// CHECK: hopper.fill %[[V]][%[[LATER]]] of %[[WARP]]

// A whole segment is finished at once. Pairs are transposed back on their way out.
// CHECK: hopper.column_reduce sum
// CHECK: hopper.approx rcp
// CHECK: hopper.round_pair
// CHECK: hopper.transpose_pairs
// CHECK: hopper.store_pair
// Another one is left to the CTA: accumulator, maximum and sum, and what it is a piece of.
// CHECK: } else {
// CHECK: hopper.column_reduce sum
// CHECK: hopper.store_words {{.*}} : f32, <53568>
// CHECK: hopper.store_words {{.*}} : vector<2xf32>, <53568>
// CHECK-COUNT-2: hopper.store_words {{.*}} : vector<4xi32>, <53568>

// CHECK: hopper.barrier_sync %c1_i32 threads 256

// Areas' notes, a lane each; a row of a segment at a time: the pieces of this CTA first.
// CHECK-COUNT-2: hopper.load_words %[[W]]{{.*}} -> vector<4xi32>
// CHECK: hopper.warp_scan
// CHECK: scf.while
// CHECK: hopper.ballot
// CHECK: hopper.load_words %[[W]]{{.*}} -> vector<2xf32>
// CHECK: hopper.load_words %[[W]]{{.*}} -> vector<4xf32>
// Then between CTAs. Who is not the last hands over, and does not wait.
// CHECK: %[[HANDS:.*]] = arith.cmpi slt, %[[CTA]], %{{.*}}
// CHECK-NEXT: scf.if %[[HANDS]] {
// CHECK-NOT: hopper.collect
// CHECK: hopper.hand_over {{.*}} : <f32>
// CHECK-NEXT: } else {
// The last collects from those before it, which have lower numbers.
// CHECK: %[[WAITS:.*]] = arith.cmpi slt, %{{.*}}, %[[CTA]]
// CHECK-NEXT: scf.if %[[WAITS]]
// CHECK: scf.while (%[[FROM:[^ ]*]] =
// CHECK: %[[LEFT:.*]] = arith.subi %[[CTA]], %{{.*}}
// CHECK: hopper.collect 8 packets from %{{.*}}[%{{.*}}] stride 1024 below %[[LEFT]] : <f32>
// CHECK: hopper.approx rcp
// CHECK: hopper.store_pair
// CHECK-NOT: hopper.hand_over
// What breaks the contract is reported at the end, each 32 requests by one warp of another CTA.
// CHECK: scf.while (%{{.*}} = %[[CTA]])
// CHECK: hopper.report {{.*}} reason 1
func.func @f(%q: tensor<?x8x128xbf16>, %rows: tensor<?xi32>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>,
             %kv_rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.0883 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
