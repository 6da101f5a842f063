// A space with splits stores partial states, which a merge after it finishes: epilogue, lse and sinks move there.
// RUN: pagefold-opt %s --tile-split-kv | FileCheck %s
// RUN: pagefold-opt %s --tile-split-kv --remarks-filter=tile-split-kv --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>

// The place is 3 splits x 8 tokens x 8 heads x (2 + 64) x 4 bytes.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[BATCH:.*]]: !tile.batch, %{{.*}}, %{{.*}}, %[[OUT:.*]]: memref<?x8x64xf32>, %{{.*}}: !tile.mask, %[[LSE:.*]]: memref<?x8xf32>, %[[SINKS:.*]]: memref<8xf32>
// CHECK: %[[TOKENS:.*]] = memref.dim %[[OUT]]
// CHECK: %[[PARTIALS:.*]] = tile.workspace(%[[TOKENS]]) bytes 50688 : memref<3x?x8x66xf32>
// CHECK: tile.space {{.*}} splits 3>
// CHECK:   %[[ST:.*]] = tile.fold
// CHECK:   tile.store_partial %[[ST]] at %{{.*}} into %[[PARTIALS]]
// CHECK-NOT: tile.finish
// CHECK: tile.merge_splits %[[PARTIALS]] of %[[BATCH]] into %[[OUT]] lse(%[[LSE]] : memref<?x8xf32>) sinks(%[[SINKS]] : memref<8xf32>) {
// CHECK: ^bb0(%[[O:.*]]: f32,
// CHECK:   arith.negf %[[O]]
// REMARK: [Passed] SplitKV | Category:tile-split-kv | Function=split | Remark="KV split into 3 parts"
func.func @split(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask, %lse: memref<?x8xf32>, %sinks: memref<8xf32>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 2, kv_len 4096>} {
  tile.space of %batch, %kv group 4 schedule <dot, q_tile 8, kv_tile 256, splits 3> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x64xf32> -> !rows
    %st0 = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %st: !tile.state<64>):
      %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<kv x 64, f32>
      %s = tile.contract %qt, %k : !rows, !tile.tile<kv x 64, f32> -> !some
      %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %v = tile.load_v %kv at %item[%t] : !kv -> !tile.tile<kv x 64, f32>
      %st2 = tile.accumulate %p, %v into %st1 : !some, !tile.tile<kv x 64, f32>, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out lse(%lse : memref<?x8xf32>) sinks(%sinks : memref<8xf32>) {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      %n = arith.negf %o : f32
      tile.yield %n : f32
    } : !tile.state<64>, memref<?x8x64xf32>
  } : !kv
  return
}

// CHECK-LABEL: func.func @one
// CHECK-NOT: tile.workspace
// CHECK: tile.finish
// REMARK-NOT: Function=one
func.func @one(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask, %lse: memref<?x8xf32>, %sinks: memref<8xf32>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 2, kv_len 4096>} {
  tile.space of %batch, %kv group 4 schedule <dot, q_tile 8, kv_tile 256, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x64xf32> -> !rows
    %st0 = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %st: !tile.state<64>):
      %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<kv x 64, f32>
      %s = tile.contract %qt, %k : !rows, !tile.tile<kv x 64, f32> -> !some
      %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %v = tile.load_v %kv at %item[%t] : !kv -> !tile.tile<kv x 64, f32>
      %st2 = tile.accumulate %p, %v into %st1 : !some, !tile.tile<kv x 64, f32>, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xf32>
  } : !kv
  return
}

// The schedule says what is.
// CHECK-LABEL: func.func @standard_form
// CHECK-NOT: tile.workspace
// CHECK: schedule <dot, q_tile 8, kv_tile 256, splits 1>
// CHECK: tile.finish
// REMARK: [Missed] SplitKV | Category:tile-split-kv | Function=standard_form | Remark="the standard form is not split: expects a fold"
func.func @standard_form(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask, %lse: memref<?x8xf32>, %sinks: memref<8xf32>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 2, kv_len 4096>} {
  tile.space of %batch, %kv group 4 schedule <dot, q_tile 8, kv_tile 256, splits 3> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x64xf32> -> !rows
    %k = tile.load_k %kv at %item : !kv -> !tile.tile<all x 64, f32>
    %s = tile.contract %qt, %k : !rows, !tile.tile<all x 64, f32> -> !all
    %s1 = tile.map %s at %item mask(%mask) {
    ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
      %y = arith.negf %x : f32
      tile.yield %y : f32
    } : !all
    %p, %st = tile.softmax %s1 : !all -> !tile.state<64>
    %v = tile.load_v %kv at %item : !kv -> !tile.tile<all x 64, f32>
    %acc = tile.accumulate %p, %v into %st : !all, !tile.tile<all x 64, f32>, !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xf32>
  } : !kv
  return
}
