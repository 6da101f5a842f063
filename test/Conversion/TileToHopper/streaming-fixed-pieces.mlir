// Keys cut at places that follow from their number alone (batch-invariant): a warp folds the pieces that begin in its part of the line,
// hands each over, and the last one's merges those before it in their order.
// RUN: pagefold-opt %s --attn-to-tile --tile-online-softmax --tile-select-schedule='target=cuda batch-invariant' --tile-visit-lists --tile-to-hopper --canonicalize --cse | FileCheck %s

// 16 pieces of a segment at most. Packets: 4 requests x 2 KV heads x 16 pieces x 32 lanes x 9 vectors.
// CHECK: tile.plan @f {about = [{{.*}}space = {{.*}}splits = 16
// CHECK-SAME: workspace = 590080 : i64

// CHECK: hopper.kernel @f_k0(
// CHECK: %[[LANE:.*]] = hopper.lane
// CHECK: %[[SLICES:.*]] = hopper.warp_reduce sum %[[COUNTS:.*]]
// No states in shared memory, and no barrier.
// CHECK-NOT: hopper.store_words
// A piece: a sixteenth of the segment's slices, rounded up, and 8 at least.
// CHECK: %[[OWN:.*]] = hopper.shuffle %[[COUNTS]]
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[OWN]], %c1
// CHECK: %[[ROUNDED:.*]] = arith.addi %[[COUNT]], %c15
// CHECK: %[[PART:.*]] = arith.shrui %[[ROUNDED]], %c4
// CHECK: %[[PIECE:.*]] = arith.maxsi %[[PART]], %c16
// A part begins with the first piece that begins in it.
// CHECK: %[[BEFORE:.*]] = arith.divui %{{.*}}, %[[PIECE]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[BEFORE]], %[[PIECE]]
// CHECK: arith.minsi %[[FIRST]], %[[COUNT]]
// CHECK: hopper.contract_block
// CHECK: hopper.hand_over
// CHECK: hopper.collect 1 packets
// CHECK: hopper.store_pair
// CHECK-NOT: hopper.barrier_sync
func.func @f(%q: tensor<?x8x128xbf16>, %rows: tensor<?xi32>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>,
             %kv_rows: tensor<?xi32>) -> tensor<?x8x128xbf16>
    attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %o = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.0883 mask <causal>
    : tensor<?x8x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>, tensor<?xi32> -> tensor<?x8x128xbf16>
  return %o : tensor<?x8x128xbf16>
}
