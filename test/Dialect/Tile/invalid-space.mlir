// A negative test for each constraint of spaces and what stands in them.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  // expected-error@+1 {{C1: expects a region that takes one item}}
  tile.space of %batch, %kv group 4 {
  ^bb0(%i: index):
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  // expected-error@+1 {{C2: expects a group from 1 to 128, got 129}}
  tile.space of %batch, %kv group 129 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
func.func @space_c3(%a: !kv, %b: !kv, %rows: memref<?xi32>, %x: memref<?x8x128xbf16>) {
  // expected-note@+1 {{the batch checks another KV here}}
  %batch = tile.batch rows(%rows) of %a tokens(%x) : memref<?xi32>, !kv, memref<?x8x128xbf16>
  // expected-error@+1 {{C3: expects a batch of its KV}}
  tile.space of %batch, %b group 4 {
  ^bb0(%item: !tile.item):
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  // expected-error@+1 {{C4: expects at most one load_q, and one fold or softmax, got 0 and 2}}
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
    %st1 = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %other: !tile.item, %q: memref<?x8x128xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C1: expects the item of the space around it}}
    %qt = tile.load_q %q at %other scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x128xbf16> -> !rows
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %q: memref<?x4x128xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C2: expects the query to be [?, 8, 128] with contiguous rows, got 'memref<?x4x128xbf16>'}}
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x4x128xbf16> -> !rows
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x128xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C3: expects a result '!tile.tile<q x 128, f32>', got '!tile.tile<q x 64, f32>'}}
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x128xbf16> -> !tile.tile<q x 64, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x128xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C3: expects a region that takes '!tile.tile<q x 128, f32>', got ('!tile.tile<q x 64, f32>')}}
    %qt = tile.load_q %q at %item scale 0.125 {
    ^bb0(%x: !tile.tile<q x 64, f32>):
      tile.yield %x : !tile.tile<q x 64, f32>
    } : memref<?x8x128xbf16> -> !rows
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %q: memref<?x8x128xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C4: expects a finite scale > 0, got 0.000000e+00 : f64}}
    %qt = tile.load_q %q at %item scale 0.0 {
    ^bb0(%x: !rows):
      tile.yield %x : !rows
    } : memref<?x8x128xbf16> -> !rows
  } : !kv
  return
}

// -----

func.func @outside(%kv: !tile.kv<2 heads, 128 x 64, bf16, page 16>, %item: !tile.item) {
  // expected-error@+1 {{'tile.load_k' op C1: expects to stand in a tile.space}}
  %k = tile.load_k %kv at %item : !tile.kv<2 heads, 128 x 64, bf16, page 16> -> !tile.tile<all x 128, f32>
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %t: index) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C1: expects the tile's number of its fold in a fold, and none outside}}
    %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<kv x 128, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %other: index) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      // expected-error@+1 {{C1: expects the tile's number of its fold in a fold, and none outside}}
      %k = tile.load_k %kv at %item[%other] : !kv -> !tile.tile<kv x 128, f32>
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      // expected-error@+1 {{C1: expects the tile's number of its fold in a fold, and none outside}}
      %k = tile.load_v %kv at %item : !kv -> !tile.tile<all x 64, f32>
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %other: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C1: expects the KV of the space around it}}
    %k = tile.load_k %other at %item : !kv -> !tile.tile<all x 128, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C2: expects a result '!tile.tile<all x 128, f32>', got '!tile.tile<all x 64, f32>'}}
    %k = tile.load_k %kv at %item : !kv -> !tile.tile<all x 64, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C2: expects a result '!tile.tile<all x 64, f32>', got '!tile.tile<all x 64, bf16>'}}
    %k = tile.load_v %kv at %item : !kv -> !tile.tile<all x 64, bf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      // expected-error@+1 {{C2: expects a result '!tile.tile<kv x 128, f32>', got '!tile.tile<all x 128, f32>'}}
      %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<all x 128, f32>
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

func.func @outside(%q: !tile.tile<q x 128, f32>, %k: !tile.tile<kv x 64, f32>) {
  // expected-error@+1 {{C1: expects [q, d] x [n, d] -> [q, n] in f32}}
  %s = tile.contract %q, %k : !tile.tile<q x 128, f32>, !tile.tile<kv x 64, f32> -> !tile.tile<q x kv, f32>
  return
}

// -----

func.func @outside(%q: !tile.tile<q x 64, f32>, %k: !tile.tile<kv x 64, f32>) {
  // expected-error@+1 {{C1: expects [q, d] x [n, d] -> [q, n] in f32}}
  %s = tile.contract %q, %k : !tile.tile<q x 64, f32>, !tile.tile<kv x 64, f32> -> !tile.tile<q x kv, bf16>
  return
}

// -----

func.func @outside(%q: !tile.tile<q x 64, f32>, %k: !tile.tile<kv x 64, f32>) {
  // expected-error@+1 {{C1: expects [q, d] x [n, d] -> [q, n] in f32}}
  %s = tile.contract %q, %k : !tile.tile<q x 64, f32>, !tile.tile<kv x 64, f32> -> !tile.tile<q x all, f32>
  return
}

// -----

func.func @outside(%p: !tile.tile<q x kv, f32>, %v: !tile.tile<kv x 64, f32>, %st: !tile.state<128>) {
  // expected-error@+1 {{C1: expects [q, n] x [n, v_dim] into a state of v_dim}}
  %s = tile.accumulate %p, %v into %st : !tile.tile<q x kv, f32>, !tile.tile<kv x 64, f32>, !tile.state<128>
  return
}

// -----

func.func @outside(%p: !tile.tile<q x all, f32>, %v: !tile.tile<kv x 64, f32>, %st: !tile.state<64>) {
  // expected-error@+1 {{C1: expects [q, n] x [n, v_dim] into a state of v_dim}}
  %s = tile.accumulate %p, %v into %st : !tile.tile<q x all, f32>, !tile.tile<kv x 64, f32>, !tile.state<64>
  return
}

// -----

func.func @outside(%s: !tile.tile<q x kv, f32>) {
  // expected-error@+1 {{C1: expects scores '!tile.tile<q x all, f32>', got '!tile.tile<q x kv, f32>'}}
  %p, %st = tile.softmax %s : !tile.tile<q x kv, f32> -> !tile.state<64>
  return
}

// -----

func.func @outside(%s: !tile.tile<q x all, f32>, %st: !tile.state<64>) {
  // expected-error@+1 {{C1: expects scores '!tile.tile<q x kv, f32>', got '!tile.tile<q x all, f32>'}}
  %st1, %p = tile.softmax_step %st, %s : !tile.state<64>, !tile.tile<q x all, f32>
  return
}

// -----

func.func @outside(%sc: !tile.tile<q x all, f32>, %m: !tile.mask, %item: !tile.item) {
  // expected-error@+1 {{'tile.map' op C1: expects to stand in a tile.space}}
  %s1 = tile.map %sc at %item mask(%m) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !tile.tile<q x all, f32>

  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !tile.tile<q x all, f32>, %m: !tile.mask, %t: index) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C1: expects the tile's number of its fold in a fold, and none outside}}
    %s1 = tile.map %sc at %item[%t] mask(%m) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !tile.tile<q x all, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !scores, %m: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C2: expects scores '!tile.tile<q x all, f32>', got '!tile.tile<q x kv, f32>'}}
    %s1 = tile.map %sc at %item mask(%m) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !scores
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !tile.tile<q x all, f32>, %m: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C3: expects its region to take (f32, 6 x i32), got ('f32', 'i32')}}
    %s1 = tile.map %sc at %item mask(%m) {
      ^bb0(%x: f32, %i: i32):
        tile.yield %x : f32
      } : !tile.tile<q x all, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !tile.tile<q x all, f32>, %m: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C3: expects its region to yield f32}}
    %s1 = tile.map %sc at %item mask(%m) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %i : i32
      } : !tile.tile<q x all, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !tile.tile<q x all, f32>, %m: !tile.mask, %p: i1) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C4: expects partial of the fold around it, and none outside of a fold}}
    %s1 = tile.map %sc at %item mask(%m) partial(%p) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !tile.tile<q x all, f32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %sc: !scores, %m: !tile.mask) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      // expected-error@+1 {{C4: expects partial of the fold around it, and none outside of a fold}}
      %s1 = tile.map %sc at %item[%t] mask(%m) {
      ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
        tile.yield %x : f32
      } : !scores

      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

func.func @outside(%item: !tile.item, %m: !tile.mask) {
  // expected-error@+1 {{'tile.visits' op C1: expects to stand in a tile.space}}
  %v = tile.visits %item mask(%m)
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C1: expects a region that takes (index, i1, '!tile.state<64>'), got ('index', '!tile.state<64>')}}
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %s: !tile.state<64>):
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C1: expects its region to yield '!tile.state<64>'}}
    %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      tile.yield %t : index
    } : !tile.state<64>
  } : !kv
  return
}

// -----

func.func @outside(%item: !tile.item, %st0: !tile.state<64>) {
  // expected-error@+1 {{'tile.fold' op C2: expects to stand in a tile.space}}
  %st = tile.fold %item init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
      tile.yield %s : !tile.state<64>
    } : !tile.state<64>
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x8x64xbf16>, %other: !tile.item, %st0: !tile.state<64>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C1: expects the item of the space around it}}
    tile.finish %st0 at %other into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x8x64xbf16>, %st0: !tile.state<128>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C2: expects a state of the KV's v_dim 64, got '!tile.state<128>'}}
    tile.finish %st0 at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<128>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C2: expects the output to be [?, 8, 64] with contiguous rows, got 'memref<?x2x64xbf16>'}}
    tile.finish %st0 at %item into %out {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x2x64xbf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x8x64xbf16>, %l: memref<?x2xf32>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C3: expects lse to be [?, 8] of f32 with contiguous rows, got 'memref<?x2xf32>'}}
    tile.finish %st0 at %item into %out lse(%l : memref<?x2xf32>) {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x8x64xbf16>, %l: memref<2xf32>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C3: expects sinks to be [8] of f32 with contiguous rows, got 'memref<2xf32>'}}
    tile.finish %st0 at %item into %out sinks(%l : memref<2xf32>) {
    ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %out: memref<?x8x64xbf16>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C4: expects its region to take (f32, 5 x i32), got ('f32')}}
    tile.finish %st0 at %item into %out {
    ^bb0(%o: f32):
      tile.yield %o : f32
    } : !tile.state<64>, memref<?x8x64xbf16>
  } : !kv
  return
}

// -----

func.func @outside(%st: !tile.state<64>, %item: !tile.item, %p: memref<2x?x8x66xf32>) {
  // expected-error@+1 {{'tile.store_partial' op C1: expects to stand in a tile.space}}
  tile.store_partial %st at %item into %p : !tile.state<64>, memref<2x?x8x66xf32>
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %p: memref<3x?x8x66xf32>) {
  tile.space of %batch, %kv group 4 schedule <dot, q_tile 4, kv_tile 256, splits 2> {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C2: expects partials to be [2, ?, 8, 66] of f32 with contiguous rows, got 'memref<3x?x8x66xf32>'}}
    tile.store_partial %st0 at %item into %p : !tile.state<64>, memref<3x?x8x66xf32>
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 128 x 64, bf16, page 16>
!rows = !tile.tile<q x 128, f32>
!scores = !tile.tile<q x kv, f32>
func.func @space(%batch: !tile.batch, %kv: !kv, %p: memref<1x?x8x64xf32>) {
  tile.space of %batch, %kv group 4 {
  ^bb0(%item: !tile.item):
    %st0 = tile.init : !tile.state<64>
    // expected-error@+1 {{C2: expects partials to be [1, ?, 8, 66] of f32 with contiguous rows, got 'memref<1x?x8x64xf32>'}}
    tile.store_partial %st0 at %item into %p : !tile.state<64>, memref<1x?x8x64xf32>
  } : !kv
  return
}

// -----

func.func @merge_splits(%p: memref<2x?x8x66xf32>, %batch: !tile.batch, %out: memref<?x?x64xbf16>) {
  // expected-error@+1 {{C1: expects an output [?, heads, v_dim] with static heads and v_dim, got 'memref<?x?x64xbf16>'}}
  tile.merge_splits %p of %batch into %out {
  ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<2x?x8x66xf32>, memref<?x?x64xbf16>
  return
}

// -----

func.func @merge_splits(%p: memref<2x?x8x64xf32>, %batch: !tile.batch, %out: memref<?x8x64xbf16>) {
  // expected-error@+1 {{C1: expects partials to be [?, ?, 8, 66] of f32 with contiguous rows, got 'memref<2x?x8x64xf32>'}}
  tile.merge_splits %p of %batch into %out {
  ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<2x?x8x64xf32>, memref<?x8x64xbf16>
  return
}

// -----

func.func @merge_splits(%p: memref<?x?x8x66xf32>, %batch: !tile.batch, %out: memref<?x8x64xbf16>) {
  // expected-error@+1 {{C1: expects a static number of splits, got 'memref<?x?x8x66xf32>'}}
  tile.merge_splits %p of %batch into %out {
  ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<?x?x8x66xf32>, memref<?x8x64xbf16>
  return
}

// -----

func.func @merge_splits(%p: memref<2x?x8x66xf32>, %batch: !tile.batch, %out: memref<?x8x64xbf16>, %l: memref<?x8xbf16>) {
  // expected-error@+1 {{C2: expects lse to be [?, 8] of f32 with contiguous rows, got 'memref<?x8xbf16>'}}
  tile.merge_splits %p of %batch into %out lse(%l : memref<?x8xbf16>) {
  ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
    tile.yield %o : f32
  } : memref<2x?x8x66xf32>, memref<?x8x64xbf16>
  return
}

// -----

func.func @merge_splits(%p: memref<2x?x8x66xf32>, %batch: !tile.batch, %out: memref<?x8x64xbf16>) {
  // expected-error@+1 {{C3: expects its region to take (f32, 5 x i32), got ('f32')}}
  tile.merge_splits %p of %batch into %out {
  ^bb0(%o: f32):
    tile.yield %o : f32
  } : memref<2x?x8x66xf32>, memref<?x8x64xbf16>
  return
}
