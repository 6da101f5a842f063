// tile.cut_prefix: read, printed, read again; a negative test for each constraint, and for the maxima of a batch.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics --verify-roundtrip | FileCheck %s

!kv = !tile.kv<8 heads, 128 x 128, bf16, page 16>
!pages = memref<?x16x8x128xbf16>
// CHECK-LABEL: func.func @cut
// CHECK: tile.batch rows(%{{.*}}) of %{{.*}} tokens(%{{.*}}) {tile.bounds = #attn.bounds<batch 1, q_len 64, kv_len 8192>}
// CHECK: tile.cut_prefix %{{.*}} of %{{.*}} shared(%{{.*}}, %{{.*}}, %{{.*}}) rest(%{{.*}}, %{{.*}}) : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
func.func @cut(%k: !pages, %t: memref<?x?xi32>, %l: memref<?xi32>, %rows: memref<?xi32>, %q: memref<?x32x128xbf16>, %n: memref<1xi32>,
               %t1: memref<1x512xi32>, %l1: memref<1xi32>, %r1: memref<2xi32>, %t2: memref<32x512xi32>, %l2: memref<32xi32>) {
  %kv = tile.paged %k, %k table(%t) lens(%l) : !pages, !pages, memref<?x?xi32>, memref<?xi32> -> !kv
  %b = tile.batch rows(%rows) of %kv tokens(%q) {tile.bounds = #attn.bounds<batch 1, q_len 64, kv_len 8192>}
    : memref<?xi32>, !kv, memref<?x32x128xbf16>
  tile.cut_prefix %n of %b shared(%t1, %l1, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
  return
}

// -----

!kv = !tile.kv<8 heads, 128 x 128, bf16>
func.func @dense(%k: memref<?x8x128xbf16>, %rows: memref<?xi32>, %q: memref<?x32x128xbf16>, %n: memref<1xi32>,
                 %t1: memref<1x512xi32>, %r1: memref<2xi32>, %t2: memref<32x512xi32>, %l2: memref<32xi32>) {
  %kv = tile.dense %k, %k rows(%rows) : memref<?x8x128xbf16>, memref<?x8x128xbf16>, memref<?xi32> -> !kv
  %b = tile.batch rows(%rows) of %kv tokens(%q) : memref<?xi32>, !kv, memref<?x32x128xbf16>
  // expected-error@+1 {{C1: expects a batch of a paged KV, got '!tile.kv<8 heads, 128 x 128, bf16>'}}
  tile.cut_prefix %n of %b shared(%t1, %n, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
  return
}

// -----

func.func @length(%b: !tile.batch, %n: memref<1xi32>, %wrong: memref<2xi32>, %t1: memref<1x512xi32>, %t2: memref<32x512xi32>, %l2: memref<32xi32>) {
  // expected-error@+1 {{C2: expects the promised length to be [1] of i32 with contiguous rows, got 'memref<2xi32>'}}
  tile.cut_prefix %wrong of %b shared(%t1, %n, %wrong) rest(%t2, %l2)
    : memref<2xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
  return
}

// -----

func.func @rows(%b: !tile.batch, %n: memref<1xi32>, %t1: memref<1x512xi32>, %t2: memref<32x512xi32>, %l2: memref<32xi32>) {
  // expected-error@+1 {{C2: expects the shared rows to be [2] of i32 with contiguous rows, got 'memref<1xi32>'}}
  tile.cut_prefix %n of %b shared(%t1, %n, %n) rest(%t2, %l2)
    : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<1xi32>, memref<32x512xi32>, memref<32xi32>
  return
}

// -----

func.func @dynamic(%b: !tile.batch, %n: memref<1xi32>, %r1: memref<2xi32>, %t1: memref<1x512xi32>, %t2: memref<?x512xi32>, %l2: memref<32xi32>) {
  // expected-error@+1 {{C3: expects the rest's table to have static extents, got 'memref<?x512xi32>'}}
  tile.cut_prefix %n of %b shared(%t1, %n, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<?x512xi32>, memref<32xi32>
  return
}

// -----

func.func @lengths(%b: !tile.batch, %n: memref<1xi32>, %r1: memref<2xi32>, %t1: memref<1x512xi32>, %t2: memref<32x512xi32>, %l2: memref<16xi32>) {
  // expected-error@+1 {{C3: expects the rest's lengths to be [32] of i32 with contiguous rows, got 'memref<16xi32>'}}
  tile.cut_prefix %n of %b shared(%t1, %n, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<16xi32>
  return
}

// -----

func.func @columns(%b: !tile.batch, %n: memref<1xi32>, %r1: memref<2xi32>, %t1: memref<1x256xi32>, %t2: memref<32x512xi32>, %l2: memref<32xi32>) {
  // expected-error@+1 {{C3: expects the shared table to be [1, 512] of i32 with contiguous rows, got 'memref<1x256xi32>'}}
  tile.cut_prefix %n of %b shared(%t1, %n, %r1) rest(%t2, %l2)
    : memref<1xi32>, memref<1x256xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
  return
}

// -----

!kv = !tile.kv<8 heads, 128 x 128, bf16>
func.func @bounds(%k: memref<?x8x128xbf16>, %rows: memref<?xi32>) {
  %kv = tile.dense %k, %k rows(%rows) : memref<?x8x128xbf16>, memref<?x8x128xbf16>, memref<?xi32> -> !kv
  // expected-error@+1 {{C3: expects tile.bounds to be an #attn.bounds, got 1 : i64}}
  %b = tile.batch rows(%rows) of %kv tokens(%k) {tile.bounds = 1} : memref<?xi32>, !kv, memref<?x8x128xbf16>
  return
}
