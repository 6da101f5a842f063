//===- Passes.td - passes on the tile dialect --------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_TRANSFORMS_PASSES
#define PAGEFOLD_DIALECT_TILE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TileOnlineSoftmax : Pass<"tile-online-softmax"> {
  let summary = "Rewrites materialised attention into a fold";
  let description = [{
    **Requires** spaces in the standard form: `load_k` and `load_v` of all keys, `contract`, `map`,
    `softmax`, `contract`.

    **Ensures** that each is a `tile.fold` over KV tiles whose state is (row max, row sum, accumulator); no
    tile with an extent `all` is left, so nothing of size q_len x kv_len exists.

    **Idea.** softmax(s) V = (sum_t exp(s_t - m) V_t) / (sum_t sum exp(s_t - m)), and both sums can be kept relative
    to a running maximum: when it grows from m to m', what was summed is scaled by exp(m - m').
    That makes a step from a tile and a state to a state, and steps are associative.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    !all = !tile.tile<q x all, f32>
    !keys = !tile.tile<all x 64, f32>
    func.func @f(%batch: !tile.batch, %kv: !kv, %q: memref<?x2x64xf32>, %out: memref<?x2x64xf32>,
                 %mask: !tile.mask) {
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %q at %item scale 0.125 {
        ^bb0(%x: !tile.tile<q x 64, f32>):
          tile.yield %x : !tile.tile<q x 64, f32>
        } : memref<?x2x64xf32> -> !tile.tile<q x 64, f32>
        %k = tile.load_k %kv at %item : !kv -> !keys
        %s = tile.contract %qt, %k : !tile.tile<q x 64, f32>, !keys -> !all
        %s1 = tile.map %s at %item mask(%mask) {
        ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
          tile.yield %x : f32
        } : !all
        %p, %st = tile.softmax %s1 : !all -> !tile.state<64>
        %v = tile.load_v %kv at %item : !kv -> !keys
        %acc = tile.accumulate %p, %v into %st : !all, !keys, !tile.state<64>
        tile.finish %acc at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    !some = !tile.tile<q x kv, f32>
    !keys = !tile.tile<kv x 64, f32>
    func.func @f(%batch: !tile.batch, %kv: !kv, %q: memref<?x2x64xf32>, %out: memref<?x2x64xf32>,
                 %mask: !tile.mask) {
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %q at %item scale 0.125 {
        ^bb0(%x: !tile.tile<q x 64, f32>):
          tile.yield %x : !tile.tile<q x 64, f32>
        } : memref<?x2x64xf32> -> !tile.tile<q x 64, f32>
        %init = tile.init : !tile.state<64>
        %acc = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %st: !tile.state<64>):
          %k = tile.load_k %kv at %item[%t] : !kv -> !keys
          %s = tile.contract %qt, %k : !tile.tile<q x 64, f32>, !keys -> !some
          %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !some
          %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
          %v = tile.load_v %kv at %item[%t] : !kv -> !keys
          %st2 = tile.accumulate %p, %v into %st1 : !some, !keys, !tile.state<64>
          tile.yield %st2 : !tile.state<64>
        } : !tile.state<64>
        tile.finish %acc at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    **Does not** decide which tiles are visited (`tile-visit-lists`), nor their size (`tile-select-schedule`).
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileSplitRows : Pass<"tile-split-rows"> {
  let summary = "Gives requests of few query rows a space of their own";
  let description = [{
    **Requires** spaces in fold form without a schedule; functions with `attn.bounds`.

    **Ensures** that a space whose requests may have few query rows or many becomes two, where the streaming schedule of
    target cuda takes the requests of few: one with `max_q_len`, one with `min_q_len`. Each writes the rows of its requests,
    and every request belongs to one of them.

    **Idea.** A batch mixes prefill chunks and decodes. A decode in the pipelined form fills a tile of 128 rows with one, and
    reads its history at the speed of a few multiprocessors; the streaming form cannot hold a chunk. Which request is
    which is in device memory, so both kernels are launched, and each passes over the other's requests.

    **Example**

    ```mlir
    !kv = !tile.kv<8 heads, 128 x 128, bf16, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %q: memref<?x32x128xbf16>, %out: memref<?x32x128xbf16>)
        attributes {attn.bounds = #attn.bounds<batch 64, q_len 512, kv_len 8192>} {
      %mask = tile.mask #attn.mask<causal>
      tile.space of %batch, %kv group 4 {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %q at %item scale 0.125 {
        ^bb0(%x: !tile.tile<q x 128, f32>):
          tile.yield %x : !tile.tile<q x 128, f32>
        } : memref<?x32x128xbf16> -> !tile.tile<q x 128, f32>
        %init = tile.init : !tile.state<128>
        %acc = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %st: !tile.state<128>):
          %k = tile.load_k %kv at %item[%t] : !kv -> !tile.tile<kv x 128, f32>
          %s = tile.contract %qt, %k : !tile.tile<q x 128, f32>, !tile.tile<kv x 128, f32> -> !tile.tile<q x kv, f32>
          %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !tile.tile<q x kv, f32>
          %st1, %p = tile.softmax_step %st, %s1 : !tile.state<128>, !tile.tile<q x kv, f32>
          %v = tile.load_v %kv at %item[%t] : !kv -> !tile.tile<kv x 128, f32>
          %st2 = tile.accumulate %p, %v into %st1 : !tile.tile<q x kv, f32>, !tile.tile<kv x 128, f32>, !tile.state<128>
          tile.yield %st2 : !tile.state<128>
        } : !tile.state<128>
        tile.finish %acc at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<128>, memref<?x32x128xbf16>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    module {
      func.func @f(%arg0: !tile.batch, %arg1: !tile.kv<8 heads, 128 x 128, bf16, page 16>, %arg2: memref<?x32x128xbf16>, %arg3: memref<?x32x128xbf16>) attributes {attn.bounds = #attn.bounds<batch 64, q_len 512, kv_len 8192>} {
        %0 = tile.mask <"k <= q + kv_len - q_len">
        tile.space of %arg0, %arg1 group 4 max_q_len 4 {
        ^bb0(%arg4: !tile.item):
          %1 = tile.load_q %arg2 at %arg4 scale 1.250000e-01 {
          ^bb0(%arg5: !tile.tile<q x 128, f32>):
            tile.yield %arg5 : !tile.tile<q x 128, f32>
          } : memref<?x32x128xbf16> -> <q x 128, f32>
          %2 = tile.init : <128>
          %3 = tile.fold %arg4 init(%2) {
          ^bb0(%arg5: index, %arg6: i1, %arg7: !tile.state<128>):
            %4 = tile.load_k %arg1 at %arg4[%arg5] : <8 heads, 128 x 128, bf16, page 16> -> <kv x 128, f32>
            %5 = tile.contract %1, %4 : <q x 128, f32>, <kv x 128, f32> -> <q x kv, f32>
            %6 = tile.map %5 at %arg4[%arg5] mask(%0) partial(%arg6) {
            ^bb0(%arg8: f32, %arg9: i32, %arg10: i32, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32):
              tile.yield %arg8 : f32
            } : <q x kv, f32>
            %newState, %weights = tile.softmax_step %arg7, %6 : <128>, <q x kv, f32>
            %7 = tile.load_v %arg1 at %arg4[%arg5] : <8 heads, 128 x 128, bf16, page 16> -> <kv x 128, f32>
            %8 = tile.accumulate %weights, %7 into %newState : <q x kv, f32>, <kv x 128, f32>, <128>
            tile.yield %8 : !tile.state<128>
          } : <128>
          tile.finish %3 at %arg4 into %arg3 {
          ^bb0(%arg5: f32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32):
            tile.yield %arg5 : f32
          } : <128>, memref<?x32x128xbf16>
        } : <8 heads, 128 x 128, bf16, page 16>
        tile.space of %arg0, %arg1 group 4 min_q_len 5 {
        ^bb0(%arg4: !tile.item):
          %1 = tile.load_q %arg2 at %arg4 scale 1.250000e-01 {
          ^bb0(%arg5: !tile.tile<q x 128, f32>):
            tile.yield %arg5 : !tile.tile<q x 128, f32>
          } : memref<?x32x128xbf16> -> <q x 128, f32>
          %2 = tile.init : <128>
          %3 = tile.fold %arg4 init(%2) {
          ^bb0(%arg5: index, %arg6: i1, %arg7: !tile.state<128>):
            %4 = tile.load_k %arg1 at %arg4[%arg5] : <8 heads, 128 x 128, bf16, page 16> -> <kv x 128, f32>
            %5 = tile.contract %1, %4 : <q x 128, f32>, <kv x 128, f32> -> <q x kv, f32>
            %6 = tile.map %5 at %arg4[%arg5] mask(%0) partial(%arg6) {
            ^bb0(%arg8: f32, %arg9: i32, %arg10: i32, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32):
              tile.yield %arg8 : f32
            } : <q x kv, f32>
            %newState, %weights = tile.softmax_step %arg7, %6 : <128>, <q x kv, f32>
            %7 = tile.load_v %arg1 at %arg4[%arg5] : <8 heads, 128 x 128, bf16, page 16> -> <kv x 128, f32>
            %8 = tile.accumulate %weights, %7 into %newState : <q x kv, f32>, <kv x 128, f32>, <128>
            tile.yield %8 : !tile.state<128>
          } : <128>
          tile.finish %3 at %arg4 into %arg3 {
          ^bb0(%arg5: f32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32):
            tile.yield %arg5 : f32
          } : <128>, memref<?x32x128xbf16>
        } : <8 heads, 128 x 128, bf16, page 16>
        return
      }
    }
    ```

    **Remarks** (category `SplitRows`): passed: where the limit is. Missed: why a space stays whole.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileStageQueries : Pass<"tile-stage-queries"> {
  let summary = "Gives what changes queries a kernel of its own, for the streaming and pipelined forms";
  let description = [{
    **Requires** spaces in fold form; functions with `attn.bounds`.

    **Ensures** that a space which the streaming or pipelined form of target cuda would take, were it not for the region of its
    `load_q`, loads its queries as they are: from a buffer of the workspace that a `tile.rows` before it fills. The option `form` is that
    of `tile-select-schedule`.

    **Idea.** The pipeline's queries go from memory to shared memory by TMA and from there into the tensor cores: no thread
    holds them, so there is no place for a rope or a norm. A kernel of rows costs one launch and one more pass over the
    queries, little beside attention that otherwise runs one thread a row. A warp that streams keys has its queries in registers and changes them
    there, if its lanes hold what a rope turns together; else they are staged for it, too. The changed queries are
    rounded to their element type once more, before the product, as they are where the rope is an op of its own.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
    !rows = !tile.tile<q x 64, f32>
    !keys = !tile.tile<kv x 64, f32>
    !some = !tile.tile<q x kv, f32>
    func.func @f(%batch: !tile.batch, %kv: !kv, %q: memref<?x2x64xbf16>, %cos: memref<?x32xf32>,
                 %sin: memref<?x32xf32>, %out: memref<?x2x64xbf16>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 64, kv_len 4096>} {
      %mask = tile.mask #attn.mask<causal>
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %q at %item scale 0.125 {
        ^bb0(%x: !rows):
          %y = tile.rope %x, %cos, %sin half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
          tile.yield %y : !rows
        } : memref<?x2x64xbf16> -> !rows
        %init = tile.init : !tile.state<64>
        %acc = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %st: !tile.state<64>):
          %k = tile.load_k %kv at %item[%t] : !kv -> !keys
          %s = tile.contract %qt, %k : !rows, !keys -> !some
          %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !some
          %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
          %v = tile.load_v %kv at %item[%t] : !kv -> !keys
          %st2 = tile.accumulate %p, %v into %st1 : !some, !keys, !tile.state<64>
          tile.yield %st2 : !tile.state<64>
        } : !tile.state<64>
        tile.finish %acc at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xbf16>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
    !rows = !tile.tile<q x 64, f32>
    !keys = !tile.tile<kv x 64, f32>
    !some = !tile.tile<q x kv, f32>
    func.func @f(%batch: !tile.batch, %kv: !kv, %q: memref<?x2x64xbf16>, %cos: memref<?x32xf32>,
                 %sin: memref<?x32xf32>, %out: memref<?x2x64xbf16>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 64, kv_len 4096>} {
      %mask = tile.mask #attn.mask<causal>
      %zero = arith.constant 0 : index
      %tokens = memref.dim %q, %zero : memref<?x2x64xbf16>
      %staged = tile.workspace(%tokens) bytes 65536 : memref<?x2x64xbf16>
      tile.rows %q into %staged of %batch {
      ^bb0(%x: !rows):
        %y = tile.rope %x, %cos, %sin half_split : !rows, memref<?x32xf32>, memref<?x32xf32>
        tile.yield %y : !rows
      } : memref<?x2x64xbf16>, memref<?x2x64xbf16>
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %staged at %item scale 0.125 {
        ^bb0(%x: !rows):
          tile.yield %x : !rows
        } : memref<?x2x64xbf16> -> !rows
        %init = tile.init : !tile.state<64>
        %acc = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %st: !tile.state<64>):
          %k = tile.load_k %kv at %item[%t] : !kv -> !keys
          %s = tile.contract %qt, %k : !rows, !keys -> !some
          %s1 = tile.map %s at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !some
          %st1, %p = tile.softmax_step %st, %s1 : !tile.state<64>, !some
          %v = tile.load_v %kv at %item[%t] : !kv -> !keys
          %st2 = tile.accumulate %p, %v into %st1 : !some, !keys, !tile.state<64>
          tile.yield %st2 : !tile.state<64>
        } : !tile.state<64>
        tile.finish %acc at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xbf16>
      } : !kv
      return
    }
    ```

    **Does not** touch a space that the pipeline refuses for another reason, too (a *missed* remark names it): its
    region costs nothing where one thread has the row.
  }];
  let options = [
    Option<"form", "form", "std::string", "", "The form that tile-select-schedule is to choose (default: empty, from the table)">
  ];
  let dependentDialects = ["::pagefold::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

def TileFuseAppend : Pass<"tile-fuse-append"> {
  let summary = "Lets the kernel that streams keys append the new ones itself";
  let description = [{
    **Requires** spaces with schedules; functions with `attn.bounds`.

    **Ensures** that a `tile.append` to the cache of a streaming space behind it, with nothing between the two that reads or writes what
    it does, stands in the space.

    **Idea.** At decode an append moves a few hundred kilobytes. As a kernel before attention it costs its way to memory and back, 1 to
    3 us, though attention may begin with old keys meanwhile. A warp that folds a slice with new keys makes their rows itself and puts them into shared memory, so that
    none waits for the pages; who folds the last slice of a KV head writes them.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, bf16, page 16>
    !rows = !tile.tile<q x 64, f32>
    !keys = !tile.tile<kv x 64, f32>
    !some = !tile.tile<q x kv, f32>
    func.func @f(%q: memref<?x8x64xbf16>, %k: memref<?x2x64xbf16>, %v: memref<?x2x64xbf16>, %r: memref<?xi32>,
                 %kp: memref<?x16x2x64xbf16>, %vp: memref<?x16x2x64xbf16>, %t: memref<?x?xi32>, %l: memref<?xi32>,
                 %out: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      %kv = tile.paged %kp, %vp table(%t) lens(%l)
        : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> !kv
      %batch = tile.batch rows(%r) of %kv tokens(%q) : memref<?xi32>, !kv, memref<?x8x64xbf16>
      %mask = tile.mask #attn.mask<causal>
      tile.append %k, %v to %kv of %batch key {
      ^bb0(%x: !rows):
        tile.yield %x : !rows
      } value {
      ^bb0(%x: !rows):
        tile.yield %x : !rows
      } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, !kv
      tile.space of %batch, %kv group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
      ^bb0(%item: !tile.item):
        %qt = tile.load_q %q at %item scale 0.125 {
        ^bb0(%x: !rows):
          tile.yield %x : !rows
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
    ```

    becomes

    ```mlir
    module {
      func.func @f(%arg0: memref<?x8x64xbf16>, %arg1: memref<?x2x64xbf16>, %arg2: memref<?x2x64xbf16>, %arg3: memref<?xi32>, %arg4: memref<?x16x2x64xbf16>, %arg5: memref<?x16x2x64xbf16>, %arg6: memref<?x?xi32>, %arg7: memref<?xi32>, %arg8: memref<?x8x64xbf16>) attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
        %0 = tile.paged %arg4, %arg5 table(%arg6) lens(%arg7) : memref<?x16x2x64xbf16>, memref<?x16x2x64xbf16>, memref<?x?xi32>, memref<?xi32> -> <2 heads, 64 x 64, bf16, page 16>
        %1 = tile.batch rows(%arg3) of %0 tokens(%arg0) : memref<?xi32>, <2 heads, 64 x 64, bf16, page 16>, memref<?x8x64xbf16>
        %2 = tile.mask <"k <= q + kv_len - q_len">
        tile.space of %1, %0 group 4 schedule <streaming, q_tile 16, kv_tile 16, splits 1> {
        ^bb0(%arg9: !tile.item):
          tile.append %arg1, %arg2 to %0 of %1 key {
          ^bb0(%arg10: !tile.tile<q x 64, f32>):
            tile.yield %arg10 : !tile.tile<q x 64, f32>
          } value {
          ^bb0(%arg10: !tile.tile<q x 64, f32>):
            tile.yield %arg10 : !tile.tile<q x 64, f32>
          } : memref<?x2x64xbf16>, memref<?x2x64xbf16>, <2 heads, 64 x 64, bf16, page 16>
          %3 = tile.load_q %arg0 at %arg9 scale 1.250000e-01 {
          ^bb0(%arg10: !tile.tile<q x 64, f32>):
            tile.yield %arg10 : !tile.tile<q x 64, f32>
          } : memref<?x8x64xbf16> -> <q x 64, f32>
          %4 = tile.init : <64>
          %5 = tile.fold %arg9 init(%4) {
          ^bb0(%arg10: index, %arg11: i1, %arg12: !tile.state<64>):
            %6 = tile.load_k %0 at %arg9[%arg10] : <2 heads, 64 x 64, bf16, page 16> -> <kv x 64, f32>
            %7 = tile.contract %3, %6 : <q x 64, f32>, <kv x 64, f32> -> <q x kv, f32>
            %8 = tile.map %7 at %arg9[%arg10] mask(%2) partial(%arg11) {
            ^bb0(%arg13: f32, %arg14: i32, %arg15: i32, %arg16: i32, %arg17: i32, %arg18: i32, %arg19: i32):
              tile.yield %arg13 : f32
            } : <q x kv, f32>
            %newState, %weights = tile.softmax_step %arg12, %8 : <64>, <q x kv, f32>
            %9 = tile.load_v %0 at %arg9[%arg10] : <2 heads, 64 x 64, bf16, page 16> -> <kv x 64, f32>
            %10 = tile.accumulate %weights, %9 into %newState : <q x kv, f32>, <kv x 64, f32>, <64>
            tile.yield %10 : !tile.state<64>
          } : <64>
          tile.finish %5 at %arg9 into %arg8 {
          ^bb0(%arg10: f32, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: i32):
            tile.yield %arg10 : f32
          } : <64>, memref<?x8x64xbf16>
        } : <2 heads, 64 x 64, bf16, page 16>
        return
      }
    }
    ```

    **Remarks** (category `FuseAppend`): passed: an append that moved. Analysis: why another stays, such as rows of more new tokens than a
    warp keeps in registers.

    **Does not** move an append whose requests are those of several spaces (`tile-split-rows`), nor one that a prefix is read behind.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileJoinRows : Pass<"tile-join-rows"> {
  let summary = "Makes one kernel of kernels of rows that need nothing of each other";
  let description = [{
    **Requires** nothing.

    **Ensures** that of `tile.rows` and `tile.append` with nothing but definitions between them, those which write no buffer that
    another reads or writes stand in one `tile.together`.

    **Idea.** At decode these kernels move a few hundred kilobytes, and what they cost is their launch and the way to the
    first byte. The new keys and values go into the cache and the queries into their buffer at the same time.

    **Example**

    ```mlir
    !rows = !tile.tile<q x 128, f32>
    func.func @f(%q: memref<?x32x128xbf16>, %k: memref<?x8x128xbf16>, %w: memref<128xf32>,
                 %qs: memref<?x32x128xbf16>, %ks: memref<?x8x128xbf16>) {
      tile.rows %q into %qs {
      ^bb0(%x: !rows):
        %n = tile.rms_norm %x, %w eps 1.0e-5 : !rows, memref<128xf32>
        tile.yield %n : !rows
      } : memref<?x32x128xbf16>, memref<?x32x128xbf16>
      tile.rows %k into %ks {
      ^bb0(%x: !rows):
        %n = tile.rms_norm %x, %w eps 1.0e-5 : !rows, memref<128xf32>
        tile.yield %n : !rows
      } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
      return
    }
    ```

    becomes

    ```mlir
    module {
      func.func @f(%arg0: memref<?x32x128xbf16>, %arg1: memref<?x8x128xbf16>, %arg2: memref<128xf32>, %arg3: memref<?x32x128xbf16>, %arg4: memref<?x8x128xbf16>) {
        tile.together {
          tile.rows %arg0 into %arg3 {
          ^bb0(%arg5: !tile.tile<q x 128, f32>):
            %0 = tile.rms_norm %arg5, %arg2 eps 1.000000e-05 : <q x 128, f32>, memref<128xf32>
            tile.yield %0 : !tile.tile<q x 128, f32>
          } : memref<?x32x128xbf16>, memref<?x32x128xbf16>
          tile.rows %arg1 into %arg4 {
          ^bb0(%arg5: !tile.tile<q x 128, f32>):
            %0 = tile.rms_norm %arg5, %arg2 eps 1.000000e-05 : <q x 128, f32>, memref<128xf32>
            tile.yield %0 : !tile.tile<q x 128, f32>
          } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
        }
        return
      }
    }
    ```

    **Remarks** (category `JoinRows`): passed: how many became one.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileSelectSchedule : Pass<"tile-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Chooses a schedule for every space from the target's table";
  let description = [{
    **Requires** spaces; functions with `attn.bounds`.

    **Ensures** that every space has a `#tile.schedule`, printed as a remark with the table's reason and the rows that were
    rejected. A schedule that is there already is kept. A pipelined space of so few query
    rows that tiles with the rows of a whole group are at most half as many has the attribute `tile.packed` beside it.

    **Idea.** One table per target (`lib/Target/Host/ScheduleTable.cpp`, `lib/Target/Hopper/ScheduleTable.cpp`); the first row
    whose condition on the space holds decides. Overrides replace single fields; a form chooses among its rows.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %st = tile.init : !tile.state<64>
        tile.finish %st at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      tile.space of %batch, %kv group 1 schedule <dot, q_tile 1, kv_tile 256, splits 1> {
      ^bb0(%item: !tile.item):
        %st = tile.init : !tile.state<64>
        tile.finish %st at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    **Does not** touch the space's body: a schedule never edits the fold.
  }];
  let options = [
    Option<"qTile", "q-tile", "int64_t", "0", "Rows of a query tile (default: 0, from the table)">,
    Option<"kvTile", "kv-tile", "int64_t", "0", "Keys of a KV tile (default: 0, from the table)">,
    Option<"splits", "splits", "int64_t", "0", "Parts of the KV dimension (default: 0, from the table)">,
    Option<"form", "form", "std::string", "",
           "outer or dot (host), streaming or pipelined (cuda), or simt (default: empty, from the table)">,
    Option<"packGroups", "pack-groups", "bool", "true",
           "Let the heads of a group share query tiles of the pipelined form where that pays">,
    Option<"batchInvariant", "batch-invariant", "bool", "false",
           "A request's bits do not depend on its neighbours: keys are split at fixed places, or not at all">,
    Option<"target", "target", "std::string", /*default=*/"\"host\"", "host or cuda (default: host)">];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileVisitLists : Pass<"tile-visit-lists"> {
  let summary = "Lets each fold visit only the tiles that its mask shows";
  let description = [{
    **Requires** folds without a visit list.

    **Ensures** that every fold runs over `tile.visits` of its item and mask, and that `tile.map` applies the
    mask only where the visit list says *partial*.

    **Idea.** The ranges come from the mask by integer-set arithmetic (`docs/masks.md`); this pass puts the
    list in place and says in a remark what was derived; it becomes integer ops in the lowering.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>, %scores: !tile.tile<q x kv, f32>) {
      %mask = tile.mask #attn.mask<causal>
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %init = tile.init : !tile.state<64>
        %st = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
          %s1 = tile.map %scores at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !tile.tile<q x kv, f32>
          %s2, %p = tile.softmax_step %s, %s1 : !tile.state<64>, !tile.tile<q x kv, f32>
          tile.yield %s2 : !tile.state<64>
        } : !tile.state<64>
        tile.finish %st at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>, %scores: !tile.tile<q x kv, f32>) {
      %mask = tile.mask #attn.mask<causal>
      tile.space of %batch, %kv group 1 {
      ^bb0(%item: !tile.item):
        %init = tile.init : !tile.state<64>
        %visits = tile.visits %item mask(%mask)
        %st = tile.fold %item over %visits init(%init) {
        ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
          %s1 = tile.map %scores at %item[%t] mask(%mask) partial(%partial) {
          ^bb0(%x: f32, %i: i32, %j: i32, %h: i32, %b: i32, %position: i32, %token: i32):
            tile.yield %x : f32
          } : !tile.tile<q x kv, f32>
          %s2, %p = tile.softmax_step %s, %s1 : !tile.state<64>, !tile.tile<q x kv, f32>
          tile.yield %s2 : !tile.state<64>
        } : !tile.state<64>
        tile.finish %st at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    **Does not** need run-time values: lengths and windows stay symbols.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileSplitKV : Pass<"tile-split-kv", "::mlir::ModuleOp"> {
  let summary = "Splits the KV dimension over items and merges their states";
  let description = [{
    **Requires** spaces in fold form with a schedule whose `splits` is above 1. Spaces of the forms `streaming` and `pipelined` are left
    as they are: their kernels split on the device.

    **Ensures** that the space stores partial states and a `tile.merge_splits` after it finishes them.

    **Idea.** The fold is associative: item `(…, s)` takes the share `[n s / S, n (s+1) / S)` of its visit
    list, and the merge is the same rule that combines two steps.

    **Example**

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      tile.space of %batch, %kv group 1 schedule <dot, q_tile 1, kv_tile 256, splits 2> {
      ^bb0(%item: !tile.item):
        %init = tile.init : !tile.state<64>
        %st = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
          tile.yield %s : !tile.state<64>
        } : !tile.state<64>
        tile.finish %st at %item into %out {
        ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
          tile.yield %o : f32
        } : !tile.state<64>, memref<?x2x64xf32>
      } : !kv
      return
    }
    ```

    becomes

    ```mlir
    !kv = !tile.kv<2 heads, 64 x 64, f32, page 16>
    func.func @f(%batch: !tile.batch, %kv: !kv, %out: memref<?x2x64xf32>)
        attributes {attn.bounds = #attn.bounds<batch 4, q_len 1, kv_len 4096>} {
      %zero = arith.constant 0 : index
      %tokens = memref.dim %out, %zero : memref<?x2x64xf32>
      %partials = tile.workspace(%tokens) bytes 4224 : memref<2x?x2x66xf32>
      tile.space of %batch, %kv group 1 schedule <dot, q_tile 1, kv_tile 256, splits 2> {
      ^bb0(%item: !tile.item):
        %init = tile.init : !tile.state<64>
        %st = tile.fold %item init(%init) {
        ^bb0(%t: index, %partial: i1, %s: !tile.state<64>):
          tile.yield %s : !tile.state<64>
        } : !tile.state<64>
        tile.store_partial %st at %item into %partials : !tile.state<64>, memref<2x?x2x66xf32>
      } : !kv
      tile.merge_splits %partials of %batch into %out {
      ^bb0(%o: f32, %i: i32, %h: i32, %d: i32, %position: i32, %token: i32):
        tile.yield %o : f32
      } : memref<2x?x2x66xf32>, memref<?x2x64xf32>
      return
    }
    ```

    **Does not** split the standard form.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

#endif // PAGEFOLD_DIALECT_TILE_TRANSFORMS_PASSES
