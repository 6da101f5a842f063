// Appends that a streaming kernel does itself, and those that stay kernels of rows.
// RUN: pagefold-opt %s --split-input-file --tile-fuse-append | FileCheck %s
// RUN: pagefold-opt %s --split-input-file --tile-fuse-append --remarks-filter=tile-fuse-append --remark-format=emitRemark 2>&1 >%t | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: func.func @decode
// CHECK-NOT: tile.append
// CHECK: tile.space
// CHECK-NEXT: ^bb0
// CHECK-NEXT: tile.append %arg1, %arg2 to %[[KV:.*]] of %[[BATCH:.*]] key {
// CHECK: tile.rope
// CHECK: tile.load_q
// CHECK: tile.load_k %[[KV]]
// REMARK: [Passed] FuseAppend | Category:tile-fuse-append | Function=decode | Remark="the kernel that streams keys appends the new ones itself"
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @decode(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.space of %batch, %kv group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

// A kernel of rows in between that touches nothing of it is passed.
// CHECK-LABEL: func.func @passed
// CHECK-NOT: tile.append
// CHECK: tile.rows
// CHECK: tile.space
// CHECK: tile.append
// REMARK: [Passed] FuseAppend{{.*}}Function=passed
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @passed(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %zero = arith.constant 0 : index
  %tokens = memref.dim %k, %zero : memref<?x2x64xbf16>
  %place = tile.workspace(%tokens) bytes 1024 : memref<?x2x64xbf16>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.rows %v into %place {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>
  tile.space of %batch, %kv group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

// It changes the rows that are appended: moved behind it, the append would take others.
// CHECK-LABEL: func.func @changed
// CHECK: tile.append
// CHECK: tile.rows
// CHECK: tile.space
// CHECK-NOT: tile.append
// REMARK: [Analysis] FuseAppend{{.*}}Function=changed | Reason="a kernel between the two reads or writes what it does", Remark="the append stays a kernel of its own"
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @changed(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.rows %k into %v {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>
  tile.space of %batch, %kv group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

// CHECK-LABEL: func.func @other_rows
// CHECK: tile.append
// CHECK: tile.space
// CHECK-NOT: tile.append
// REMARK: Function=other_rows | Reason="its tokens are those of other row offsets"
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @other_rows(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %others = tile.batch rows(%r2) of %kv tokens(%k) : memref<?xi32>, !kv, memref<?x2x64xbf16>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %others key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.space of %batch, %kv group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

// Of requests with more query rows nobody would append here.
// CHECK-LABEL: func.func @some_requests
// CHECK: tile.append
// CHECK: tile.space
// CHECK-NOT: tile.append
// REMARK: Function=some_requests | Reason="requests of other numbers of query rows are another space's"
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @some_requests(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.space of %batch, %kv group 4 max_q_len 1 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

// Two words of keys and as many of values for each token, from 32 lanes: rope turns element j with element j + 32.
// CHECK-LABEL: func.func @many_tokens
// CHECK: tile.append
// CHECK: tile.space
// CHECK-NOT: tile.append
// REMARK: Function=many_tokens | Reason="the rows of 12 new tokens are 24 registers, a warp keeps 16"
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @many_tokens(%q: memref<?x2x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x2x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 12, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x2x64xbf16>, memref<?x32xf32>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.space of %batch, %kv group 1 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x2x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x2x64xbf16>
  } : !kv
  return
}

// -----

// The pipeline brings all keys from memory.
// CHECK-LABEL: func.func @pipelined
// CHECK: tile.append
// CHECK: tile.space
// CHECK-NOT: tile.append
// REMARK-NOT: Function=pipelined
!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
!rows = !tile.tile<q x 64, f32>
!keys = !tile.tile<kv x 64, f32>
!some = !tile.tile<q x kv, f32>
func.func @pipelined(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>, %r2: memref<?xi32>,
             %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
             %cos: memref<?x32xf32>, %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
  %kv = tile.paged %kp, %vp table(%t) lens(%l)
    : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
  %batch = tile.batch rows(%r) of %kv tokens(%q) positions(%cos) : memref<?xi32>, !kv, memref<?x8x64xbf16>, memref<?x32xf32>
  %mask = tile.mask #attn.mask<causal>
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !rows):
    %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
    tile.yield %y : !rows
  } value {
  ^bb0(%x: !rows):
    tile.yield %x : !rows
  } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  tile.space of %batch, %kv group 4 schedule <pipelined, q_tile 64, kv_tile 128, splits 1> {
  ^bb0(%item: !tile.item):
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      %y = tile.rope %x, %cos, %cos half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
      tile.yield %y : !rows
    } : memref<?x8x64xbf16> -> !rows
    %init = tile.init : !tile.state<64>
    %acc = tile.fold %item init(%init) {
    ^bb0(%i: index, %partial: i1, %st: !tile.state<64>):
      %kt = tile.load_k %kv at %item[%i] : !kv -> !keys
      %s = tile.contract %qt, %kt : !rows, !keys -> !some
      %s1 = tile.map %s at %item[%i] mask(%mask) partial(%partial) {
      ^bb0(%x: f32, %a: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !some
      %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
      %vt = tile.load_v %kv at %item[%i] : !kv -> !keys
      %st2 = tile.accumulate %p, %vt into %st1 : !some, !keys, !tile.state<64>
      tile.yield %st2 : !tile.state<64>
    } : !tile.state<64>
    tile.finish %acc at %item into %out {
    ^bb0(%o: f32, %a: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}
