// The standard form becomes a fold; what has another form stays, with the reason.
// RUN: pagefold-opt %s --tile-online-softmax --split-input-file | FileCheck %s
// RUN: pagefold-opt %s --tile-online-softmax --split-input-file --remarks-filter=tile-online-softmax --remark-format=emitRemark -verify-diagnostics

// CHECK-LABEL: func.func @standard_form
// CHECK: %[[Q:.*]] = tile.load_q
// CHECK: %[[INIT:.*]] = tile.init : <64>
// CHECK: %[[FOLD:.*]] = tile.fold %[[ITEM:.*]] init(%[[INIT]]) {
// CHECK: ^bb0(%[[T:.*]]: index, %[[PARTIAL:.*]]: i1, %[[ST:.*]]: !tile.state<64>):
// CHECK:   %[[K:.*]] = tile.load_k %[[KV:.*]] at %[[ITEM]][%[[T]]] : {{.*}} -> <kv x 64, f32>
// CHECK:   %[[S:.*]] = tile.contract %[[Q]], %[[K]] : {{.*}} -> <q x kv, f32>
// CHECK:   %[[S1:.*]] = tile.map %[[S]] at %[[ITEM]][%[[T]]] mask(%{{.*}}) partial(%[[PARTIAL]]) {
// CHECK:     arith.negf
// CHECK:   %[[ST1:.*]], %[[P:.*]] = tile.softmax_step %[[ST]], %[[S1]]
// CHECK:   %[[V:.*]] = tile.load_v %[[KV]] at %[[ITEM]][%[[T]]] : {{.*}} -> <kv x 64, f32>
// CHECK:   %[[ST2:.*]] = tile.accumulate %[[P]], %[[V]] into %[[ST1]]
// CHECK:   tile.yield %[[ST2]]
// CHECK: tile.finish %[[FOLD]]
// CHECK-NOT: x all
!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>
func.func @standard_form(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) {
  tile.space of %batch, %kv group 4 {
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
    // expected-remark@+1 {{[Passed] OnlineSoftmax | Category:tile-online-softmax | Function=standard_form | Remark="softmax rewritten into a fold over KV tiles"}}
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

// -----

// Without a mask there is no map, so this is not the form that attn-to-tile writes.
// CHECK-LABEL: func.func @no_map
// CHECK: tile.softmax
// CHECK-NOT: tile.fold
!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>
func.func @no_map(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x64xf32> -> !rows
    %k = tile.load_k %kv at %item : !kv -> !tile.tile<all x 64, f32>
    %s = tile.contract %qt, %k : !rows, !tile.tile<all x 64, f32> -> !all
    // expected-remark@+1 {{[Missed] OnlineSoftmax | Category:tile-online-softmax | Function=no_map | Remark="softmax stays materialised: expects contract, map, softmax, contract over all keys"}}
    %p, %st = tile.softmax %s : !all -> !tile.state<64>
    %v = tile.load_v %kv at %item : !kv -> !tile.tile<all x 64, f32>
    %acc = tile.accumulate %p, %v into %st : !all, !tile.tile<all x 64, f32>, !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xf32>
  } : !kv
  return
}

// -----

// The weights have another use: they must exist.
// CHECK-LABEL: func.func @weights_used
// CHECK: tile.softmax
// CHECK-NOT: tile.fold
!kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
!rows = !tile.tile<q x 64, f32>
!all = !tile.tile<q x all, f32>
!some = !tile.tile<q x kv, f32>
func.func @weights_used(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %mask: !tile.mask) {
  tile.space of %batch, %kv group 4 {
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
    // expected-remark@+1 {{[Missed] OnlineSoftmax}}
    %p, %st = tile.softmax %s1 : !all -> !tile.state<64>
    %v = tile.load_v %kv at %item : !kv -> !tile.tile<all x 64, f32>
    %acc = tile.accumulate %p, %v into %st : !all, !tile.tile<all x 64, f32>, !tile.state<64>
    %again = tile.accumulate %p, %v into %acc : !all, !tile.tile<all x 64, f32>, !tile.state<64>
    tile.finish %again at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xf32>
  } : !kv
  return
}
