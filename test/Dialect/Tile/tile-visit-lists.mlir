// Every fold gets the list of tiles that its mask shows; the remark says what was derived.
// RUN: pagefold-opt %s --tile-visit-lists | FileCheck %s
// RUN: pagefold-opt %s --tile-visit-lists --remarks-filter=tile-visit-lists --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>

// CHECK-LABEL: func.func @causal
// CHECK: %[[MASK:.*]] = tile.mask
// CHECK: %[[VISITS:.*]] = tile.visits %[[ITEM:.*]] mask(%[[MASK]])
// CHECK: tile.fold %[[ITEM]] over %[[VISITS]] init
// CHECK:   tile.map {{.*}} mask(%[[MASK]]) partial(
// REMARK: [Passed] VisitList | Category:tile-visit-lists | Function=causal | Remark="visits derived (exact): any #0       [0, qhi + kv_len - q_len]  (exact);not full #0  [max(qlo + kv_len - q_len + 1, 0), inf)  (exact);visits, order proved:;  any #0: full, partial from the start of not full #0"
func.func @causal(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %bits: memref<?xi8>, %starts: memref<?xi64>) {
  %mask = tile.mask #attn.mask<causal>
  tile.space of %batch, %kv group 4 {
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

// Two ranges: the sink, and the window.
// REMARK: Function=sink_window | Remark="visits derived (exact): {{.*}}any #1: full, partial up to the end of not full #0, partial from the start of not full #1"
func.func @sink_window(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %bits: memref<?xi8>, %starts: memref<?xi64>) {
  %mask = tile.mask #attn.mask<"sink_window(4, 128)">
  tile.space of %batch, %kv group 4 {
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

// A bitmap is no integer set: no tile is skipped, and the remark says so.
// CHECK-LABEL: func.func @bitmap
// CHECK: tile.visits
// REMARK: [Missed] VisitList | Category:tile-visit-lists | Function=bitmap | Remark="a bitmap mask is not affine: it skips no tile, and every tile is tested by bits"
func.func @bitmap(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %bits: memref<?xi8>, %starts: memref<?xi64>) {
  %mask = tile.mask #attn.mask<none> bitmap(%bits, %starts : memref<?xi8>, memref<?xi64>)
  tile.space of %batch, %kv group 4 {
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

// A list that is there stays.
// CHECK-LABEL: func.func @kept
// CHECK: %[[VISITS:.*]] = tile.visits
// CHECK: tile.fold %{{.*}} over %[[VISITS]]
// CHECK-NOT: tile.visits
func.func @kept(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %bits: memref<?xi8>, %starts: memref<?xi64>) {
  %mask = tile.mask #attn.mask<causal>
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %list = tile.visits %item mask(%mask)
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x64xf32> -> !rows
    %st0 = tile.init : !tile.state<64>
    %acc = tile.fold %item over %list init(%st0) {
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
