// A negative test for each constraint of the ops on buffers and rows.
// RUN: pagefold-opt %s -split-input-file -verify-diagnostics

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C1: expects a KV type with a page size, got '!tile.kv<8 heads, 128 x 64, bf16>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16>
  return
}

// -----

func.func @paged(%k: memref<?x32x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C1: expects K pages to be [?, 16, 8, 128] of bf16 with contiguous rows, got 'memref<?x32x8x128xbf16>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x32x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xf32>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C1: expects K pages to be [?, 16, 8, 128] of bf16 with contiguous rows, got 'memref<?x16x8x128xf32>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xf32>, memref<?x16x8x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16, strided<[?, ?, ?, ?]>>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C1: expects K pages to be [?, 16, 8, 128] of bf16 with contiguous rows, got 'memref<?x16x8x128xbf16, strided<[?, ?, ?, ?]>>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xbf16, strided<[?, ?, ?, ?]>>, memref<?x16x8x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x128xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C1: expects V pages to be [?, 16, 8, 64] of bf16 with contiguous rows, got 'memref<?x16x8x128xbf16>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C2: expects the page table to be [?, ?] of i32 with contiguous rows, got 'memref<?xi32>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %starts: memref<?xi32>) {
  // expected-error@+1 {{C2: expects the page table to be [?] of i32 with contiguous rows, got 'memref<?x?xi32>'}}
  %kv = tile.paged %k, %v table(%table) starts(%starts) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?x?xi32> starts memref<?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?xi32>, %lens: memref<?xi32>, %starts: memref<?xi64>) {
  // expected-error@+1 {{C3: expects starts to be [?] of i32 with contiguous rows, got 'memref<?xi64>'}}
  %kv = tile.paged %k, %v table(%table) starts(%starts) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?xi32> starts memref<?xi64>, memref<?xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %v: memref<?x16x8x64xbf16>, %table: memref<?x?xi32>, %lens: memref<?x1xi32>) {
  // expected-error@+1 {{C3: expects lens to be [?] of i32 with contiguous rows, got 'memref<?x1xi32>'}}
  %kv = tile.paged %k, %v table(%table) lens(%lens)
    : memref<?x16x8x128xbf16>, memref<?x16x8x64xbf16>, memref<?x?xi32>, memref<?x1xi32> -> !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xf8E4M3FN>, %table: memref<?x?xi32>, %lens: memref<?xi32>) {
  // expected-error@+1 {{C4: expects scales of keys and of values for elements of 'f8E4M3FN'}}
  %kv = tile.paged %k, %k table(%table) lens(%lens)
    : memref<?x16x8x128xf8E4M3FN>, memref<?x16x8x128xf8E4M3FN>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xbf16>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: memref<8xf32>) {
  // expected-error@+1 {{C4: expects no scales for elements of 'bf16'}}
  %kv = tile.paged %k, %k table(%table) lens(%lens) scales(%scale, %scale : memref<8xf32>, memref<8xf32>)
    : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 128, bf16, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xf8E4M3FN>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: memref<8xf32>, %one: memref<1xf32>) {
  // expected-error@+1 {{C4: expects v_scale to be [8] of f32 with contiguous rows, got 'memref<1xf32>'}}
  %kv = tile.paged %k, %k table(%table) lens(%lens) scales(%scale, %one : memref<8xf32>, memref<1xf32>)
    : memref<?x16x8x128xf8E4M3FN>, memref<?x16x8x128xf8E4M3FN>, memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

func.func @paged(%k: memref<?x16x8x128xf8E4M3FN>, %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: memref<8xf32>) {
  // expected-error@+1 {{C4: expects scales of keys and of values for elements of 'f8E4M3FN'}}
  %kv = "tile.paged"(%k, %k, %table, %lens, %scale) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 1>}>
    : (memref<?x16x8x128xf8E4M3FN>, memref<?x16x8x128xf8E4M3FN>, memref<?x?xi32>, memref<?xi32>, memref<8xf32>) -> !tile.kv<8 heads, 128 x 128, f8E4M3FN, page 16>
  return
}

// -----

func.func @dense(%k: memref<?x8x64xf32>, %v: memref<?x8x64xf32>, %rows: memref<?xi32>) {
  // expected-error@+1 {{C1: expects a KV type without a page size}}
  %kv = tile.dense %k, %v rows(%rows) : memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?xi32> -> !tile.kv<8 heads, 64 x 64, f32, page 16>
  return
}

// -----

func.func @dense(%k: memref<?x?x64xf32>, %v: memref<?x8x64xf32>, %rows: memref<?xi32>) {
  // expected-error@+1 {{C1: expects keys to be [?, 8, 64] of f32 with contiguous rows, got 'memref<?x?x64xf32>'}}
  %kv = tile.dense %k, %v rows(%rows) : memref<?x?x64xf32>, memref<?x8x64xf32>, memref<?xi32> -> !tile.kv<8 heads, 64 x 64, f32>
  return
}

// -----

func.func @dense(%k: memref<?x8x64xf32>, %v: memref<?x8x64xf16>, %rows: memref<?xi32>) {
  // expected-error@+1 {{C1: expects values to be [?, 8, 64] of f32 with contiguous rows, got 'memref<?x8x64xf16>'}}
  %kv = tile.dense %k, %v rows(%rows) : memref<?x8x64xf32>, memref<?x8x64xf16>, memref<?xi32> -> !tile.kv<8 heads, 64 x 64, f32>
  return
}

// -----

func.func @dense(%k: memref<?x8x64xf32>, %v: memref<?x8x64xf32>, %rows: memref<?xi64>) {
  // expected-error@+1 {{C2: expects rows to be [?] of i32 with contiguous rows, got 'memref<?xi64>'}}
  %kv = tile.dense %k, %v rows(%rows) : memref<?x8x64xf32>, memref<?x8x64xf32>, memref<?xi64> -> !tile.kv<8 heads, 64 x 64, f32>
  return
}

// -----

func.func @batch(%rows: memref<?xi64>, %kv: !tile.kv<8 heads, 64 x 64, f32>, %x: memref<?x8x64xf32>) {
  // expected-error@+1 {{C1: expects rows to be [?] of i32 with contiguous rows, got 'memref<?xi64>'}}
  %b = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi64>, !tile.kv<8 heads, 64 x 64, f32>, memref<?x8x64xf32>
  return
}

// -----

func.func @batch(%rows: memref<?xi32>, %kv: !tile.kv<8 heads, 64 x 64, f32>, %x: memref<?x8xf32>) {
  // expected-error@+1 {{C2: expects tokens to be [?, ?, ?] with contiguous rows, got 'memref<?x8xf32>'}}
  %b = tile.batch rows(%rows) of %kv tokens(%x) : memref<?xi32>, !tile.kv<8 heads, 64 x 64, f32>, memref<?x8xf32>
  return
}

// -----

func.func @batch(%rows: memref<?xi32>, %kv: !tile.kv<8 heads, 64 x 64, f32>, %x: memref<?x8x64xf32>, %t: memref<?xf32>) {
  // expected-error@+1 {{C2: expects a table of positions to be [?, ?] with contiguous rows, got 'memref<?xf32>'}}
  %b = tile.batch rows(%rows) of %kv tokens(%x) positions(%t) : memref<?xi32>, !tile.kv<8 heads, 64 x 64, f32>, memref<?x8x64xf32>, memref<?xf32>
  return
}

// -----

func.func @mask() {
  // expected-error@+1 {{C1: expects a value for each of the mask's 1 symbols, got 0}}
  %m = tile.mask #attn.mask<"window(w) where w >= 1"> 
  return
}

// -----

func.func @mask() {
  // expected-error@+1 {{C2: expects a table for each of the mask's 1 row values, got 0}}
  %m = tile.mask #attn.mask<"k >= doc where doc per_row"> 
  return
}

// -----

func.func @mask(%t: memref<?xi64>) {
  // expected-error@+1 {{C2: expects row values to be [?] of i32 with contiguous rows, got 'memref<?xi64>'}}
  %m = tile.mask #attn.mask<"k >= doc where doc per_row"> row_values(%t : memref<?xi64>)
  return
}

// -----

func.func @mask(%b: memref<?x?xi8>, %s: memref<?xi64>) {
  // expected-error@+1 {{C3: expects the bitmap to be [?] of i8 with contiguous rows, got 'memref<?x?xi8>'}}
  %m = tile.mask #attn.mask<none> bitmap(%b, %s : memref<?x?xi8>, memref<?xi64>)
  return
}

// -----

func.func @mask(%b: memref<?xi8>, %s: memref<?xi32>) {
  // expected-error@+1 {{C3: expects the bitmap's starts to be [?] of i64 with contiguous rows, got 'memref<?xi32>'}}
  %m = tile.mask #attn.mask<none> bitmap(%b, %s : memref<?xi8>, memref<?xi32>)
  return
}

// -----

func.func @mask(%b: memref<?xi8>) {
  // expected-error@+1 {{C3: expects a bitmap and its starts, got one of them}}
  %m = "tile.mask"(%b) <{sets = #attn.mask<none>, operandSegmentSizes = array<i32: 0, 0, 1, 0>}>
    : (memref<?xi8>) -> !tile.mask
  return
}

// -----

func.func @row(%x: !tile.tile<kv x 128, f32>, %c: memref<?x64xf32>) {
  // expected-error@+1 {{C1: expects a tile [q, dim] of f32, got '!tile.tile<kv x 128, f32>'}}
  %y = tile.rope %x, %c, %c half_split : !tile.tile<kv x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>, %c: memref<?x64xbf16>) {
  // expected-error@+1 {{C1: expects cos to be [?, ?] of f32 with contiguous rows, got 'memref<?x64xbf16>'}}
  %y = tile.rope %x, %c, %c half_split : !tile.tile<q x 128, f32>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>, %c: memref<?x65xf32>) {
  // expected-error@+1 {{C1: expects cos with a static number of pairs, at most 64, got 'memref<?x65xf32>'}}
  %y = tile.rope %x, %c, %c half_split : !tile.tile<q x 128, f32>, memref<?x65xf32>, memref<?x65xf32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>, %c: memref<?x64xf32>, %s: memref<?x32xf32>) {
  // expected-error@+1 {{C1: expects sin to be [?, 64] of f32 with contiguous rows, got 'memref<?x32xf32>'}}
  %y = tile.rope %x, %c, %s half_split : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x32xf32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>, %c: memref<?x64xf32>, %p: memref<?xi8>) {
  // expected-error@+1 {{C2: expects positions to be [?] of i32 with contiguous rows, got 'memref<?xi8>'}}
  %y = tile.rope %x, %c, %c positions(%p : memref<?xi8>) half_split : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>, %w: memref<64xf32>) {
  // expected-error@+1 {{C1: expects the weight to be [128] with contiguous rows, got 'memref<64xf32>'}}
  %y = tile.rms_norm %x, %w eps 1.0e-5 : !tile.tile<q x 128, f32>, memref<64xf32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x kv, f32>) {
  // expected-error@+1 {{C1: expects a tile [q, dim] of f32, got '!tile.tile<q x kv, f32>'}}
  %y = tile.row_map %x {
  ^bb0(%v: f32, %t: i32, %h: i32, %d: i32):
    tile.yield %v : f32
  } : !tile.tile<q x kv, f32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>) {
  // expected-error@+1 {{C2: expects its region to take (f32, 3 x i32), got ('f32', 'i32')}}
  %y = tile.row_map %x {
  ^bb0(%v: f32, %t: i32):
    tile.yield %v : f32
  } : !tile.tile<q x 128, f32>
  return
}

// -----

func.func @row(%x: !tile.tile<q x 128, f32>) {
  // expected-error@+1 {{C2: expects its region to yield f32}}
  %y = tile.row_map %x {
  ^bb0(%v: f32, %t: i32, %h: i32, %d: i32):
    tile.yield %t : i32
  } : !tile.tile<q x 128, f32>
  return
}

// -----

func.func @rows(%x: memref<?x?x128xbf16>, %y: memref<?x8x128xbf16>, %cos: memref<?x64xf32>) {
  // expected-error@+1 {{C1: expects static heads and head dim, got 'memref<?x?x128xbf16>'}}
  tile.rows %x into %y {
  ^bb0(%r: !tile.tile<q x 128, f32>):
    tile.yield %r : !tile.tile<q x 128, f32>
  } : memref<?x?x128xbf16>, memref<?x8x128xbf16>
  return
}

// -----

func.func @rows(%x: memref<?x8x128xbf16>, %y: memref<?x4x128xbf16>, %cos: memref<?x64xf32>) {
  // expected-error@+1 {{C1: expects the output to be [?, 8, 128] with contiguous rows, got 'memref<?x4x128xbf16>'}}
  tile.rows %x into %y {
  ^bb0(%r: !tile.tile<q x 128, f32>):
    tile.yield %r : !tile.tile<q x 128, f32>
  } : memref<?x8x128xbf16>, memref<?x4x128xbf16>
  return
}

// -----

func.func @rows(%x: memref<?x8x128xbf16>, %y: memref<?x8x128xbf16>, %cos: memref<?x64xf32>) {
  // expected-error@+1 {{C2: expects a region that takes '!tile.tile<q x 128, f32>', got ('!tile.tile<q x 64, f32>')}}
  tile.rows %x into %y {
  ^bb0(%r: !tile.tile<q x 64, f32>):
    tile.yield %r : !tile.tile<q x 64, f32>
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  return
}

// -----

func.func @rows(%x: memref<?x8x128xbf16>, %y: memref<?x8x128xbf16>, %cos: memref<?x64xf32>) {
  // expected-error@+1 {{C2: expects its region to yield '!tile.tile<q x 128, f32>'}}
  tile.rows %x into %y {
  ^bb0(%r: !tile.tile<q x 128, f32>):
    %c = arith.constant 1.0 : f32
    tile.yield %c : f32
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  return
}

// -----

func.func @rows(%x: memref<?x8x128xbf16>, %y: memref<?x8x128xbf16>, %cos: memref<?x64xf32>) {
  // expected-error@+1 {{C3: expects a batch, for the positions of tile.rope}}
  tile.rows %x into %y {
  ^bb0(%r: !tile.tile<q x 128, f32>):
    %y2 = tile.rope %r, %cos, %cos half_split : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
    tile.yield %r : !tile.tile<q x 128, f32>
  } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
  return
}

// -----

func.func @append(%k: memref<?x8x128xf32>, %v: memref<?x8x64xf32>, %kv: !tile.kv<8 heads, 128 x 64, bf16>, %batch: !tile.batch) {
  // expected-error@+1 {{C1: expects a paged KV, got '!tile.kv<8 heads, 128 x 64, bf16>'}}
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !tile.tile<q x 128, f32>):
    tile.yield %x : !tile.tile<q x 128, f32>
  } value {
  ^bb0(%x: !tile.tile<q x 64, f32>):
    tile.yield %x : !tile.tile<q x 64, f32>
  } : memref<?x8x128xf32>, memref<?x8x64xf32>, !tile.kv<8 heads, 128 x 64, bf16>
  return
}

// -----

func.func @append(%k: memref<?x4x128xf32>, %v: memref<?x8x64xf32>, %kv: !tile.kv<8 heads, 128 x 64, bf16, page 16>, %batch: !tile.batch) {
  // expected-error@+1 {{C2: expects keys to be [?, 8, 128] with contiguous rows, got 'memref<?x4x128xf32>'}}
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !tile.tile<q x 128, f32>):
    tile.yield %x : !tile.tile<q x 128, f32>
  } value {
  ^bb0(%x: !tile.tile<q x 64, f32>):
    tile.yield %x : !tile.tile<q x 64, f32>
  } : memref<?x4x128xf32>, memref<?x8x64xf32>, !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @append(%k: memref<?x8x128xf32>, %v: memref<?x8x128xf32>, %kv: !tile.kv<8 heads, 128 x 64, bf16, page 16>, %batch: !tile.batch) {
  // expected-error@+1 {{C2: expects values to be [?, 8, 64] with contiguous rows, got 'memref<?x8x128xf32>'}}
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !tile.tile<q x 128, f32>):
    tile.yield %x : !tile.tile<q x 128, f32>
  } value {
  ^bb0(%x: !tile.tile<q x 64, f32>):
    tile.yield %x : !tile.tile<q x 64, f32>
  } : memref<?x8x128xf32>, memref<?x8x128xf32>, !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @append(%k: memref<?x8x128xf32>, %v: memref<?x8x64xf32>, %kv: !tile.kv<8 heads, 128 x 64, bf16, page 16>, %batch: !tile.batch) {
  // expected-error@+1 {{C3: expects a region that takes '!tile.tile<q x 128, f32>', got ('!tile.tile<q x 64, f32>')}}
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !tile.tile<q x 64, f32>):
    tile.yield %x : !tile.tile<q x 64, f32>
  } value {
  ^bb0(%x: !tile.tile<q x 64, f32>):
    tile.yield %x : !tile.tile<q x 64, f32>
  } : memref<?x8x128xf32>, memref<?x8x64xf32>, !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

func.func @append(%k: memref<?x8x128xf32>, %v: memref<?x8x64xf32>, %kv: !tile.kv<8 heads, 128 x 64, bf16, page 16>, %batch: !tile.batch) {
  // expected-error@+1 {{C3: expects a region that takes '!tile.tile<q x 64, f32>', got ('!tile.tile<q x 128, f32>')}}
  tile.append %k, %v to %kv of %batch key {
  ^bb0(%x: !tile.tile<q x 128, f32>):
    tile.yield %x : !tile.tile<q x 128, f32>
  } value {
  ^bb0(%x: !tile.tile<q x 128, f32>):
    tile.yield %x : !tile.tile<q x 128, f32>
  } : memref<?x8x128xf32>, memref<?x8x64xf32>, !tile.kv<8 heads, 128 x 64, bf16, page 16>
  return
}

// -----

!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
func.func @append_c5(%x: memref<?x2x64xbf16>, %a: !kv, %b: !kv, %rows: memref<?xi32>) {
  %batch = tile.batch rows(%rows) of %a tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xbf16>
  %other = tile.batch rows(%rows) of %b tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xbf16>
  tile.space of %batch, %a group 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C5: expects the space around it to have its KV, and items of all requests}}
    tile.append %x, %x to %b of %other key {
    ^bb0(%r: !tile.tile<q x 64, f32>):
      tile.yield %r : !tile.tile<q x 64, f32>
    } value {
    ^bb0(%r: !tile.tile<q x 64, f32>):
      tile.yield %r : !tile.tile<q x 64, f32>
    } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  } : !kv
  return
}

// -----

!kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
func.func @append_c5_requests(%x: memref<?x2x64xbf16>, %a: !kv, %rows: memref<?xi32>) {
  %batch = tile.batch rows(%rows) of %a tokens(%x) : memref<?xi32>, !kv, memref<?x2x64xbf16>
  tile.space of %batch, %a group 4 max_q_len 4 {
  ^bb0(%item: !tile.item):
    // expected-error@+1 {{C5: expects the space around it to have its KV, and items of all requests}}
    tile.append %x, %x to %a of %batch key {
    ^bb0(%r: !tile.tile<q x 64, f32>):
      tile.yield %r : !tile.tile<q x 64, f32>
    } value {
    ^bb0(%r: !tile.tile<q x 64, f32>):
      tile.yield %r : !tile.tile<q x 64, f32>
    } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
  } : !kv
  return
}

// -----

!kv = !tile.kv<8 heads, 64 x 64, f32, page 16>
func.func @append_c4(%x: memref<?x8x64xf32>, %a: !kv, %b: !kv, %rows: memref<?xi32>) {
  // expected-note@+1 {{the batch checks another KV here}}
  %batch = tile.batch rows(%rows) of %a tokens(%x) : memref<?xi32>, !kv, memref<?x8x64xf32>
  // expected-error@+1 {{C4: expects a batch of its KV}}
  tile.append %x, %x to %b of %batch key {
  ^bb0(%r: !tile.tile<q x 64, f32>):
    tile.yield %r : !tile.tile<q x 64, f32>
  } value {
  ^bb0(%r: !tile.tile<q x 64, f32>):
    tile.yield %r : !tile.tile<q x 64, f32>
  } : memref<?x8x64xf32>, memref<?x8x64xf32>, !kv
  return
}

// -----

func.func @row(%a: memref<?x8x64xf32>, %l: memref<?x8xf32>, %o: memref<?x?x64xf32>) {
  // expected-error@+1 {{C1: expects an output [?, heads, dim] with static heads and dim, got 'memref<?x?x64xf32>'}}
  tile.merge (%a, %l), (%a, %l) into %o, %l : memref<?x8x64xf32>, memref<?x8xf32>, memref<?x8x64xf32>, memref<?x8xf32>,
    memref<?x?x64xf32>, memref<?x8xf32>
  return
}

// -----

func.func @row(%a: memref<?x8x64xf32>, %l: memref<?x8xf32>, %o: memref<?x4x64xf32>) {
  // expected-error@+1 {{C1: expects each output to be [?, 8, 64] with contiguous rows, got 'memref<?x4x64xf32>'}}
  tile.merge (%a, %l), (%o, %l) into %a, %l : memref<?x8x64xf32>, memref<?x8xf32>, memref<?x4x64xf32>, memref<?x8xf32>,
    memref<?x8x64xf32>, memref<?x8xf32>
  return
}

// -----

func.func @row(%a: memref<?x8x64xf32>, %l: memref<?x8xf32>, %b: memref<?x8xbf16>) {
  // expected-error@+1 {{C1: expects each log-sum-exp to be [?, 8] of f32 with contiguous rows, got 'memref<?x8xbf16>'}}
  tile.merge (%a, %l), (%a, %b) into %a, %l : memref<?x8x64xf32>, memref<?x8xf32>, memref<?x8x64xf32>, memref<?x8xbf16>,
    memref<?x8x64xf32>, memref<?x8xf32>
  return
}

// -----

func.func @row() {
  // expected-error@+1 {{C1: expects a contiguous buffer and a size for each of its 1 dynamic extents, got 0 sizes}}
  %b = tile.workspace() bytes 1024 : memref<?x8xf32>
  return
}

// -----

func.func @row() {
  // expected-error@+1 {{C1: expects a contiguous buffer and a size for each of its 0 dynamic extents, got 0 sizes}}
  %b = tile.workspace() bytes 1024 : memref<4x8xf32, strided<[16, 1]>>
  return
}

// -----

func.func @row(%t: index) {
  // expected-error@+1 {{C2: expects at least 2048 bytes, got 1024}}
  %b = tile.workspace(%t) bytes 1024 : memref<?x8x64xf32>
  return
}

// -----

func.func @row(%t: memref<?x4xf32>, %i: i32) {
  // expected-error@+1 {{C1: expects an index for each of the table's 2 dimensions, got 1}}
  %x = tile.lookup %t[%i] : memref<?x4xf32> -> f32
  return
}

// -----

func.func @row(%t: memref<?xbf16>, %i: i32) {
  // expected-error@+1 {{C2: expects f32 from a table of floats and i32 from one of integers, got 'i32' from 'memref<?xbf16>'}}
  %x = tile.lookup %t[%i] : memref<?xbf16> -> i32
  return
}

// -----

!rows = !tile.tile<q x 128, f32>
func.func @together(%x: memref<?x8x128xf32>, %y: memref<?x8x128xf32>) {
  // expected-error@+1 {{C1: expects two or more of tile.rows and tile.append, got 1 of them}}
  tile.together {
    tile.rows %x into %y {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xf32>, memref<?x8x128xf32>
  }
  return
}

// -----

!rows = !tile.tile<q x 128, f32>
func.func @together(%x: memref<?x8x128xf32>, %y: memref<?x8x128xf32>) {
  // expected-error@+1 {{C1: expects two or more of tile.rows and tile.append, got arith.constant}}
  tile.together {
    %zero = arith.constant 0 : index
    tile.rows %x into %y {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xf32>, memref<?x8x128xf32>
  }
  return
}

// -----

// The second one reads what the first writes.
!rows = !tile.tile<q x 128, f32>
func.func @together(%x: memref<?x8x128xf32>, %y: memref<?x8x128xf32>, %z: memref<?x8x128xf32>) {
  tile.together {
    tile.rows %x into %y {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xf32>, memref<?x8x128xf32>
    // expected-error@+1 {{C2: expects to need nothing of the tile.rows beside it, but one writes what the other reads or writes}}
    tile.rows %y into %z {
    ^bb0(%r: !rows):
      tile.yield %r : !rows
    } : memref<?x8x128xf32>, memref<?x8x128xf32>
  }
  return
}
