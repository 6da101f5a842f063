//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_TILEOPS
#define PAGEFOLD_DIALECT_TILE_IR_TILEOPS

include "pagefold/Dialect/Tile/IR/TileBase.td"
include "pagefold/Dialect/Attn/IR/AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Buffer : MemRefOf<[F32, F16, BF16, F8E4M3FN, I32, I64, I8]>;
def Tile_Scalar : AnyTypeOf<[F32, I32]>;
def Tile_SymbolValue : AnyTypeOf<[I32, MemRefRankOf<[I32], [1]>]>;

//===----------------------------------------------------------------------===//
// Keys, values, batch, mask
//===----------------------------------------------------------------------===//

def Tile_PagedOp : Tile_Op<"paged", [Pure, AttrSizedOperandSegments]> {
  let summary = "Keys and values in pages";
  let description = [{
    Pages are `[pages, page, heads, dim]` of any strides whose rows are contiguous; key `k` of request `r` lies
    in page `table[r, k floordiv page]` (or `table[starts[r] + k floordiv page]`), slot `k mod page`.

    ```mlir
    %kv = tile.paged %k, %v table(%t) lens(%l) : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>,
      memref<?x?xi32>, memref<?xi32> -> !tile.kv<8 heads, 128 x 128, bf16, page 16>
    ```

    With scales an element `b` of KV head `g` stands for `b * k_scale[g]` in K and `b * v_scale[g]` in V: that is what
    loads give. `tile.append` divides by the scale, and what then lies beyond the type's numbers becomes the greatest.

    ```mlir
    %kv = tile.paged %k, %v table(%t) lens(%l) scales(%ks, %vs : memref<8xf32>, memref<8xf32>)
      : memref<?x16x8x128xf8E4M3FN>, memref<?x16x8x128xf8E4M3FN>, memref<?x?xi32>, memref<?xi32>
      -> !tile.kv<8 heads, 128 x 128, f8E4M3FN, page 16>
    ```

    Constraints:
    * C1: the type has a page size; K and V pages are `[?, page, heads, k_dim]` and `[?, page, heads, v_dim]` of its
      element type.
    * C2: the table is `[?, ?]` i32, with `starts` `[?]` i32.
    * C3: `starts` and `lens` are `[?]` i32.
    * C4: elements of f8E4M3FN have scales, both `[heads]` f32; others have none.
  }];
  let arguments = (ins Tile_Buffer:$kPages, Tile_Buffer:$vPages, Tile_Buffer:$table, Optional<Tile_Buffer>:$starts,
                       Tile_Buffer:$lens, Optional<Tile_Buffer>:$kScale, Optional<Tile_Buffer>:$vScale);
  let results = (outs Tile_KVType:$kv);
  let assemblyFormat = [{
    $kPages `,` $vPages `table` `(` $table `)` (`starts` `(` $starts^ `)`)? `lens` `(` $lens `)`
    (`scales` `(` $kScale^ `,` $vScale `:` type($kScale) `,` type($vScale) `)`)? attr-dict
    `:` type($kPages) `,` type($vPages) `,` type($table) (`starts` type($starts)^)? `,` type($lens) `->` type($kv)
  }];
  let hasVerifier = 1;
}

def Tile_DenseOp : Tile_Op<"dense", [Pure]> {
  let summary = "Keys and values as dense ragged rows";
  let description = [{
    Key `k` of request `r` is row `rows[r] + k` of `[tokens, heads, dim]`.

    ```mlir
    %kv = tile.dense %k, %v rows(%r) : memref<?x8x128xbf16>, memref<?x8x128xbf16>, memref<?xi32>
      -> !tile.kv<8 heads, 128 x 128, bf16>
    ```

    Constraints:
    * C1: the type has no page size; keys and values are `[?, heads, k_dim]` and `[?, heads, v_dim]` of its element
      type.
    * C2: `rows` is `[?]` i32.
  }];
  let arguments = (ins Tile_Buffer:$key, Tile_Buffer:$value, Tile_Buffer:$rows);
  let results = (outs Tile_KVType:$kv);
  let assemblyFormat = [{
    $key `,` $value `rows` `(` $rows `)` attr-dict `:` type($key) `,` type($value) `,` type($rows) `->` type($kv)
  }];
  let hasVerifier = 1;
}

def Tile_BatchOp : Tile_Op<"batch"> {
  let summary = "Checks the extents of every request";
  let description = [{
    Reads row offsets, lengths and the needed part of the page table once, and gives every request's
    extents. A request whose data break the contract (an offset that decreases, a length beyond the table, a page id
    outside the pool, more rows or keys than declared) is recorded in the error word and counts as
    having no keys, so nothing that follows reads or writes outside a buffer. `tokens` is a buffer whose first
    extent is the number of tokens. `positions` bounds the position of the last row (the length of a rope table).

    ```mlir
    %b = tile.batch rows(%rows) of %kv tokens(%x) positions(%cos)
      : memref<?xi32>, !tile.kv<8 heads, 128 x 128, bf16, page 16>, memref<?x32x128xbf16>, memref<?x64xf32>
    ```

    The attribute `tile.bounds`, an `#attn.bounds`, gives a batch maxima of its own in place of the function's.

    Constraints:
    * C1: `rows` is `[?]` i32.
    * C2: `tokens` has the shape `[?, heads, dim]`, each table `[?, ?]`.
    * C3: `tile.bounds` is an `#attn.bounds`, where it is given.
  }];
  let arguments = (ins Tile_Buffer:$rows, Tile_KVType:$kv, Tile_Buffer:$tokens, Variadic<Tile_Buffer>:$tables);
  let results = (outs Tile_BatchType:$batch);
  let assemblyFormat = [{
    `rows` `(` $rows `)` `of` $kv `tokens` `(` $tokens `)` (`positions` `(` $tables^ `)`)? attr-dict
    `:` type($rows) `,` type($kv) `,` type($tokens) (`,` type($tables)^)?
  }];
  let hasVerifier = 1;
}

def Tile_MaskOp : Tile_Op<"mask", [Pure, AttrSizedOperandSegments]> {
  let summary = "A mask with its symbols and bitmap bound";
  let description = [{
    ```mlir
    %m = tile.mask #attn.mask<"causal and window(w) where w >= 1"> symbols(%w : memref<?xi32>)
    ```

    Constraints:
    * C1: one value for each symbol of the mask, an i32 or a `[?]` i32 with one for each request.
    * C2: one `[?]` i32 table for each of the mask's row values, with a value for each token.
    * C3: the bitmap is `[?]` i8 and comes with its starts, `[?]` i64.
  }];
  let arguments = (ins Attn_MaskAttr:$sets, Variadic<Tile_SymbolValue>:$symbols, Variadic<Tile_Buffer>:$rowValues,
                       Optional<Tile_Buffer>:$bitmap, Optional<Tile_Buffer>:$bitmapStarts);
  let results = (outs Tile_MaskType:$mask);
  let assemblyFormat = [{
    $sets (`symbols` `(` $symbols^ `:` type($symbols) `)`)? (`row_values` `(` $rowValues^ `:` type($rowValues) `)`)?
    (`bitmap` `(` $bitmap^ `,` $bitmapStarts `:` type($bitmap) `,` type($bitmapStarts) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rows: what is applied to whole rows of tokens
//===----------------------------------------------------------------------===//

def Tile_RopeOp : Tile_Op<"rope", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Rotates the rows of a tile (attn.rope)";
  let description = [{
    Positions are those of the tile's rows in their requests, or `positions[token]`.

    ```mlir
    %y = tile.rope %x, %cos, %sin half_split : !tile.tile<q x 128, f32>, memref<?x64xf32>, memref<?x64xf32>
    ```

    Constraints:
    * C1: the tile is `[q, dim]` f32; `cos` and `sin` are `[?, d]` f32 with one static `d` and 2 d <= dim.
    * C2: `positions` is `[?]` i32 or i64.
  }];
  let arguments = (ins Tile_TileType:$input, Tile_Buffer:$cos, Tile_Buffer:$sin, Optional<Tile_Buffer>:$positions,
                       Attn_Pairing:$pairing);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin (`positions` `(` $positions^ `:` type($positions) `)`)? $pairing attr-dict
    `:` type($input) `,` type($cos) `,` type($sin)
  }];
  let hasVerifier = 1;
}

def Tile_RmsNormOp : Tile_Op<"rms_norm", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Normalises the rows of a tile (attn.rms_norm)";
  let description = [{
    ```mlir
    %y = tile.rms_norm %x, %w eps 1.0e-5 : !tile.tile<q x 128, f32>, memref<128xf32>
    ```

    Constraints:
    * C1: the tile is `[q, dim]` f32 and the weight `[dim]`.
  }];
  let arguments = (ins Tile_TileType:$input, Tile_Buffer:$weight, F64Attr:$eps);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$input `,` $weight `eps` $eps attr-dict `:` type($input) `,` type($weight)";
  let hasVerifier = 1;
}

def Tile_RowMapOp : Tile_Op<"row_map", [Pure, AllTypesMatch<["input", "result"]>,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Applies a scalar region to every element of a tile of rows";
  let description = [{
    The region takes (value : f32, token : i32, head : i32, d : i32) and yields f32.

    ```mlir
    %y = tile.row_map %x {
    ^bb0(%value: f32, %token: i32, %head: i32, %d: i32):
      %z = arith.negf %value : f32
      tile.yield %z : f32
    } : !tile.tile<q x 128, f32>
    ```

    Constraints:
    * C1: the tile is `[q, dim]` f32.
    * C2: the region takes (f32, i32, i32, i32) and yields f32.
  }];
  let arguments = (ins Tile_TileType:$input);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$input $body attr-dict `:` type($input)";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_RowsOp : Tile_Op<"rows", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A kernel that maps rows of tokens to rows of tokens";
  let description = [{
    Each row of `input` is loaded as a tile, goes through the region, and is stored in `output`: what is left of
    small ops that fused into nothing. Positions are those of the batch.

    ```mlir
    tile.rows %x into %y of %batch {
    ^bb0(%r: !tile.tile<q x 128, f32>):
      %n = tile.rms_norm %r, %w eps 1.0e-5 : !tile.tile<q x 128, f32>, memref<128xf32>
      tile.yield %n : !tile.tile<q x 128, f32>
    } : memref<?x8x128xbf16>, memref<?x8x128xbf16>
    ```

    Constraints:
    * C1: input and output are `[?, heads, dim]` of equal heads and dim.
    * C2: the region takes a tile `[q, dim]` f32 and yields one of that type.
    * C3: a rope without `positions` needs the batch.
  }];
  let arguments = (ins Tile_Buffer:$input, Tile_Buffer:$output, Optional<Tile_BatchType>:$batch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $input `into` $output (`of` $batch^)? $body attr-dict `:` type($input) `,` type($output)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_AppendOp : Tile_Op<"append"> {
  let summary = "Writes the rows of new tokens into the pages";
  let description = [{
    As `attn.append`; each region takes the rows of a tile and yields what is written.

    In a `tile.space` it is work of the space's kernel, whose loads see the new rows (`tile-fuse-append`); of the forms of spaces,
    `streaming` does it.

    ```mlir
    tile.append %k, %v to %kv of %batch key {
    ^bb0(%x: !tile.tile<q x 128, f32>):
      tile.yield %x : !tile.tile<q x 128, f32>
    } value {
    ^bb0(%x: !tile.tile<q x 128, f32>):
      tile.yield %x : !tile.tile<q x 128, f32>
    } : memref<?x8x128xbf16>, memref<?x8x128xbf16>, !tile.kv<8 heads, 128 x 128, bf16, page 16>
    ```

    Constraints:
    * C1: the KV is paged.
    * C2: keys and values are `[?, heads, k_dim]` and `[?, heads, v_dim]` of the KV type.
    * C3: the regions take tiles `[q, k_dim]` and `[q, v_dim]` f32 and yield the same.
    * C4: the batch is one of this KV.
    * C5: a space around it is of this KV, and takes requests of any number of query rows.
  }];
  let arguments = (ins Tile_Buffer:$key, Tile_Buffer:$value, Tile_KVType:$kv, Tile_BatchType:$batch);
  let regions = (region SizedRegion<1>:$keyBody, SizedRegion<1>:$valueBody);
  let assemblyFormat = [{
    $key `,` $value `to` $kv `of` $batch `key` $keyBody `value` $valueBody attr-dict
    `:` type($key) `,` type($value) `,` type($kv)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_TogetherOp : Tile_Op<"together", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Kernels of rows that need nothing of each other, as one kernel";
  let description = [{
    What stands in the region may run in any order, also at the same time (`tile-join-rows`).

    ```mlir
    tile.together {
      tile.append %k, %v to %kv of %batch key {
      ^bb0(%x: !tile.tile<q x 128, f32>):
        tile.yield %x : !tile.tile<q x 128, f32>
      } value {
      ^bb0(%x: !tile.tile<q x 128, f32>):
        tile.yield %x : !tile.tile<q x 128, f32>
      } : memref<?x8x128xbf16>, memref<?x8x128xbf16>, !tile.kv<8 heads, 128 x 128, bf16, page 16>
      tile.rows %q into %qs of %batch {
      ^bb0(%x: !tile.tile<q x 128, f32>):
        %n = tile.rms_norm %x, %w eps 1.0e-5 : !tile.tile<q x 128, f32>, memref<128xf32>
        tile.yield %n : !tile.tile<q x 128, f32>
      } : memref<?x32x128xbf16>, memref<?x32x128xbf16>
    }
    ```

    Constraints:
    * C1: the region holds at least two ops, all of them `tile.rows` or `tile.append`.
    * C2: none writes a buffer that another reads or writes.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The space and what stands in it
//===----------------------------------------------------------------------===//

def Tile_SpaceOp : Tile_Op<"space", [SingleBlock, NoTerminator]> {
  let summary = "A space of independent items";
  let description = [{
    One item for every request, KV head, query tile and split. The run-time extents come from the batch; the
    schedule decides the tile sizes (absent until `tile-select-schedule`). With `min_q_len` and `max_q_len` only requests
    of so many query rows have items: others are another space's (`tile-split-rows`).

    ```mlir
    tile.space of %batch, %kv group 4 schedule <outer, q_tile 96, kv_tile 128, splits 1> {
    ^bb0(%item: !tile.item):
      %st = tile.init : !tile.state<128>
      tile.finish %st at %item into %out {
      ^bb0(%o: f32, %q: i32, %h: i32, %d: i32, %position: i32, %token: i32):
        tile.yield %o : f32
      } : !tile.state<128>, memref<?x32x128xbf16>
    } : !tile.kv<8 heads, 128 x 128, bf16, page 16>
    ```

    Constraints:
    * C1: the region takes one item.
    * C2: the group is from 1 to 128.
    * C3: the batch is one of this KV.
    * C4: there is at most one `load_q`, and one `fold` or `softmax`: an item has one state.
    * C5: 1 <= min_q_len <= max_q_len, where they are given.
  }];
  let arguments = (ins Tile_BatchType:$batch, Tile_KVType:$kv, I64Attr:$group,
                       OptionalAttr<Tile_ScheduleAttr>:$schedule, OptionalAttr<I64Attr>:$minQLen,
                       OptionalAttr<I64Attr>:$maxQLen);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `of` $batch `,` $kv `group` $group (`min_q_len` $minQLen^)? (`max_q_len` $maxQLen^)? (`schedule` $schedule^)? $body
    attr-dict `:` type($kv)
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getItem() { return getBody().getArgument(0); }
    /// The most query rows of a request that has items, where the function declares `declared`.
    int64_t mostQueryRows(int64_t declared) {
      return std::min<int64_t>(declared, getMaxQLen().value_or(declared));
    }
  }];
  let hasVerifier = 1;
}

def Tile_LoadQOp : Tile_Op<"load_q", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Loads the query tile of an item";
  let description = [{
    The region (rope, norm, elementwise) is applied to the rows as they are loaded, then they are scaled.

    ```mlir
    %q = tile.load_q %query at %item scale 0.125 {
    ^bb0(%x: !tile.tile<q x 128, f32>):
      tile.yield %x : !tile.tile<q x 128, f32>
    } : memref<?x32x128xbf16> -> !tile.tile<q x 128, f32>
    ```

    Constraints:
    * C1: the item is that of the space around the op.
    * C2: the query is `[?, KV heads x group, k_dim]` of the space.
    * C3: the result is `[q, k_dim]` f32; the region takes and yields such a tile.
    * C4: the scale is finite and above 0.
  }];
  let arguments = (ins Tile_Buffer:$query, Tile_ItemType:$item, F64Attr:$scale);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$query `at` $item `scale` $scale $body attr-dict `:` type($query) `->` type($result)";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

class Tile_LoadKVOp<string mnemonic, string what, string dim> : Tile_Op<mnemonic, [Pure]> {
  let summary = "Loads " # what # " of one KV tile, or of all keys of the item's request";
  let description = [{
    Through the page table where the KV is paged. Rows past the length are zero, whatever memory holds.

    ```mlir
    %x = tile.}] # mnemonic # [{ %kv at %item : !tile.kv<8 heads, 128 x 128, bf16, page 16> -> !tile.tile<all x 128, f32>
    ```

    Constraints:
    * C1: the item is that of the space around the op, the KV is the space's, and a tile's number is the fold's.
    * C2: the result is `[kv, }] # dim # [{]` with a tile's number, `[all, }] # dim # [{]` without, in f32.
  }];
  let arguments = (ins Tile_KVType:$kv, Tile_ItemType:$item, Optional<Index>:$tile);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$kv `at` $item (`[` $tile^ `]`)? attr-dict `:` type($kv) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_LoadKOp : Tile_LoadKVOp<"load_k", "the keys", "k_dim">;
def Tile_LoadVOp : Tile_LoadKVOp<"load_v", "the values", "v_dim">;

def Tile_ContractOp : Tile_Op<"contract", [Pure]> {
  let summary = "Scores: the product of a query tile and the transposed keys, in f32";
  let description = [{
    ```mlir
    %s = tile.contract %q, %k : !tile.tile<q x 128, f32>, !tile.tile<kv x 128, f32> -> !tile.tile<q x kv, f32>
    ```

    Constraints:
    * C1: the result is `[q, n]` f32 for a query tile `[q, d]` and keys `[n, d]`; `n` is `kv` or `all`.
  }];
  let arguments = (ins Tile_TileType:$query, Tile_TileType:$key);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$query `,` $key attr-dict `:` type($query) `,` type($key) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_Op<"map", [AllTypesMatch<["input", "result"]>, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Applies the score region, then the mask, to every score";
  let description = [{
    The region takes (s : f32, q, k, h, b, position, token : i32) and yields f32. A score that the mask
    hides becomes -inf. With `partial(%p)` the mask is applied only where `%p` holds: in a full tile
    no mask code runs. `tile` is the KV tile; without it the input has all keys.

    ```mlir
    %s1 = tile.map %s at %item mask(%m) {
    ^bb0(%x: f32, %q: i32, %k: i32, %h: i32, %b: i32, %position: i32, %token: i32):
      %y = arith.negf %x : f32
      tile.yield %y : f32
    } : !tile.tile<q x all, f32>
    ```

    Constraints:
    * C1: the item is that of the space around the op, and a tile's number is the fold's.
    * C2: the scores are `[q, kv]` f32 with a tile's number, `[q, all]` f32 without.
    * C3: the region takes (f32, 6 x i32) and yields f32.
    * C4: in a fold there is `partial`, and it is the fold's.
  }];
  let arguments = (ins Tile_TileType:$input, Tile_ItemType:$item, Optional<Index>:$tile, Tile_MaskType:$mask,
                       Optional<I1>:$partial);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $input `at` $item (`[` $tile^ `]`)? `mask` `(` $mask `)` (`partial` `(` $partial^ `)`)? $body attr-dict
    `:` type($input)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_SoftmaxOp : Tile_Op<"softmax", [Pure, AllTypesMatch<["scores", "weights"]>]> {
  let summary = "The standard softmax over all keys: weights exp(s - m), and the state (m, l) without accumulator";
  let description = [{
    The form that is materialised; `tile-online-softmax` rewrites it, with the products around it, into a fold.

    ```mlir
    %p, %st = tile.softmax %s : !tile.tile<q x all, f32> -> !tile.state<128>
    ```

    Constraints:
    * C1: the scores are `[q, all]` f32.
  }];
  let arguments = (ins Tile_TileType:$scores);
  let results = (outs Tile_TileType:$weights, Tile_StateType:$state);
  let assemblyFormat = "$scores attr-dict `:` type($scores) `->` type($state)";
  let hasVerifier = 1;
}

def Tile_InitOp : Tile_Op<"init", [Pure]> {
  let summary = "The identity of the fold: m = -inf, l = 0, acc = 0";
  let description = [{
    ```mlir
    %st = tile.init : !tile.state<128>
    ```
  }];
  let results = (outs Tile_StateType:$state);
  let assemblyFormat = "attr-dict `:` type($state)";
}

def Tile_SoftmaxStepOp : Tile_Op<"softmax_step", [Pure, AllTypesMatch<["state", "newState"]>,
    AllTypesMatch<["scores", "weights"]>]> {
  let summary = "One step of the online softmax";
  let description = [{
    With `m' = max(m, max_k s[k])`: weights `p[k] = exp(s[k] - m')`, `l' = l exp(m - m') + sum_k p[k]`, and
    the accumulator is scaled by `exp(m - m')` (Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022).

    ```mlir
    %st1, %p = tile.softmax_step %st, %s : !tile.state<128>, !tile.tile<q x kv, f32>
    ```

    Constraints:
    * C1: the scores are `[q, kv]` f32.
  }];
  let arguments = (ins Tile_StateType:$state, Tile_TileType:$scores);
  let results = (outs Tile_StateType:$newState, Tile_TileType:$weights);
  let assemblyFormat = "$state `,` $scores attr-dict `:` type($state) `,` type($scores)";
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [Pure, AllTypesMatch<["state", "newState"]>]> {
  let summary = "acc += weights x values";
  let description = [{
    ```mlir
    %st2 = tile.accumulate %p, %v into %st1 : !tile.tile<q x kv, f32>, !tile.tile<kv x 128, f32>, !tile.state<128>
    ```

    Constraints:
    * C1: weights `[q, n]`, values `[n, v_dim]` for a state of v_dim; `n` is `kv` or `all`.
  }];
  let arguments = (ins Tile_TileType:$weights, Tile_TileType:$values, Tile_StateType:$state);
  let results = (outs Tile_StateType:$newState);
  let assemblyFormat = "$weights `,` $values `into` $state attr-dict `:` type($weights) `,` type($values) `,` type($state)";
  let hasVerifier = 1;
}

def Tile_VisitsOp : Tile_Op<"visits", [Pure]> {
  let summary = "The visit list of an item: which KV tiles its rows see";
  let description = [{
    Derived from the mask by integer-set arithmetic at compile time and lowered to a few integer ops:
    ordered disjoint ranges of KV tiles, each *full*, *partial* or *test*. In a split space an item
    takes its share of the list.

    ```mlir
    %v = tile.visits %item mask(%m)
    ```

    Constraints:
    * C1: the item is that of the space around the op.
  }];
  let arguments = (ins Tile_ItemType:$item, Tile_MaskType:$mask);
  let results = (outs Tile_VisitsType:$visits);
  let assemblyFormat = "$item `mask` `(` $mask `)` attr-dict";
  let hasVerifier = 1;
}

def Tile_FoldOp : Tile_Op<"fold", [AllTypesMatch<["init", "result"]>, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Folds a state over KV tiles";
  let description = [{
    The region is one step; it takes the KV tile's number (index), whether the mask must be applied
    there (i1), and the state, and yields the new state. Without `over` the fold visits every KV tile
    of the request, all of them partial.

    ```mlir
    %st = tile.fold %item over %visits init(%st0) {
    ^bb0(%t: index, %partial: i1, %s: !tile.state<128>):
      %k = tile.load_k %kv at %item[%t] : !tile.kv<8 heads, 128 x 128, bf16, page 16> -> !tile.tile<kv x 128, f32>
      %scores = tile.contract %qt, %k : !tile.tile<q x 128, f32>, !tile.tile<kv x 128, f32> -> !tile.tile<q x kv, f32>
      %s1, %p = tile.softmax_step %s, %scores : !tile.state<128>, !tile.tile<q x kv, f32>
      %v = tile.load_v %kv at %item[%t] : !tile.kv<8 heads, 128 x 128, bf16, page 16> -> !tile.tile<kv x 128, f32>
      %s2 = tile.accumulate %p, %v into %s1 : !tile.tile<q x kv, f32>, !tile.tile<kv x 128, f32>, !tile.state<128>
      tile.yield %s2 : !tile.state<128>
    } : !tile.state<128>
    ```

    Constraints:
    * C1: the region takes (index, i1, state) and yields the state.
    * C2: the item is that of the space around the op.
  }];
  let arguments = (ins Tile_ItemType:$item, Optional<Tile_VisitsType>:$visits, Tile_StateType:$init);
  let results = (outs Tile_StateType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$item (`over` $visits^)? `init` `(` $init `)` $body attr-dict `:` type($init)";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_FinishOp : Tile_Op<"finish", [AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Divides by the row sum, applies the epilogue, stores the output and the log-sum-exp";
  let description = [{
    The region takes (o : f32, q, h, d, position, token : i32) and yields f32. A sink enters the row sum here, once.

    ```mlir
    tile.finish %st at %item into %out lse(%lse : memref<?x32xf32>) sinks(%sinks : memref<32xf32>) {
    ^bb0(%o: f32, %q: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : !tile.state<128>, memref<?x32x128xbf16>
    ```

    Constraints:
    * C1: the item is that of the space around the op.
    * C2: the output is `[?, KV heads x group, v_dim]`, and v_dim that of the state and of the space's KV.
    * C3: lse is `[?, heads]` f32, sinks `[heads]` f32.
    * C4: the region takes (f32, 5 x i32) and yields f32.
  }];
  let arguments = (ins Tile_StateType:$state, Tile_ItemType:$item, Tile_Buffer:$output, Optional<Tile_Buffer>:$lse,
                       Optional<Tile_Buffer>:$sinks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $state `at` $item `into` $output (`lse` `(` $lse^ `:` type($lse) `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    $body attr-dict `:` type($state) `,` type($output)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_StorePartialOp : Tile_Op<"store_partial"> {
  let summary = "Stores an item's state for a later merge of splits";
  let description = [{
    `partials` is `[splits, tokens, heads, 2 + v_dim]` f32: row max (natural scale), row sum, accumulator.

    ```mlir
    tile.store_partial %st at %item into %partials : !tile.state<128>, memref<1x?x32x130xf32>
    ```

    Constraints:
    * C1: the item is that of the space around the op.
    * C2: partials are `[splits, ?, KV heads x group, 2 + v_dim]` f32 with the splits of the space's schedule (1
      without a schedule).
  }];
  let arguments = (ins Tile_StateType:$state, Tile_ItemType:$item, Tile_Buffer:$partials);
  let assemblyFormat = "$state `at` $item `into` $partials attr-dict `:` type($state) `,` type($partials)";
  let hasVerifier = 1;
}

def Tile_MergeSplitsOp : Tile_Op<"merge_splits", [AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Merges the states of all splits, then finishes as tile.finish";
  let description = [{
    ```mlir
    tile.merge_splits %partials of %batch into %out {
    ^bb0(%o: f32, %q: i32, %h: i32, %d: i32, %position: i32, %token: i32):
      tile.yield %o : f32
    } : memref<4x?x32x130xf32>, memref<?x32x128xbf16>
    ```

    Constraints:
    * C1: partials are `[splits, ?, heads, 2 + v_dim]` f32 for an output `[?, heads, v_dim]`.
    * C2: lse is `[?, heads]` f32, sinks `[heads]` f32.
    * C3: the region takes (f32, 5 x i32) and yields f32.
  }];
  let arguments = (ins Tile_Buffer:$partials, Tile_BatchType:$batch, Tile_Buffer:$output, Optional<Tile_Buffer>:$lse,
                       Optional<Tile_Buffer>:$sinks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $partials `of` $batch `into` $output (`lse` `(` $lse^ `:` type($lse) `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    $body attr-dict `:` type($partials) `,` type($output)
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Tile_MergeOp : Tile_Op<"merge"> {
  let summary = "Folds two finished states (out, lse) into one (attn.merge)";
  let description = [{
    ```mlir
    tile.merge (%a, %la), (%b, %lb) into %out, %lse : memref<?x8x64xbf16>, memref<?x8xf32>,
      memref<?x8x64xbf16>, memref<?x8xf32>, memref<?x8x64xbf16>, memref<?x8xf32>
    ```

    Constraints:
    * C1: outputs are `[?, heads, dim]`, log-sum-exps `[?, heads]` f32, of equal heads and dim.
  }];
  let arguments = (ins Tile_Buffer:$outA, Tile_Buffer:$lseA, Tile_Buffer:$outB, Tile_Buffer:$lseB,
                       Tile_Buffer:$output, Tile_Buffer:$lse);
  let assemblyFormat = [{
    `(` $outA `,` $lseA `)` `,` `(` $outB `,` $lseB `)` `into` $output `,` $lse attr-dict
    `:` type($outA) `,` type($lseA) `,` type($outB) `,` type($lseB) `,` type($output) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def Tile_WorkspaceOp : Tile_Op<"workspace"> {
  let summary = "A buffer in the launch's workspace";
  let description = [{
    Its dynamic extents are run-time values bounded by the declared maxima; `bytes` is the bound.

    ```mlir
    %b = tile.workspace(%t) bytes 2097152 : memref<?x8x64xf32>
    ```

    Constraints:
    * C1: the buffer is contiguous and has one size for each dynamic extent.
    * C2: `bytes` holds the buffer with every dynamic extent 1.
  }];
  let arguments = (ins Variadic<Index>:$dims, I64Attr:$bytes);
  let results = (outs Tile_Buffer:$buffer);
  let assemblyFormat = "`(` $dims `)` `bytes` $bytes attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Inside scalar regions, and the terminator
//===----------------------------------------------------------------------===//

def Tile_LookupOp : Tile_Op<"lookup", [Pure]> {
  let summary = "Reads one element of a table, indices clamped into it (attn.lookup)";
  let description = [{
    ```mlir
    %x = tile.lookup %table[%h, %d] : memref<8x128xbf16> -> f32
    ```

    Constraints:
    * C1: one index for each dimension of the table.
    * C2: the result is f32 for a table of floats, i32 for one of integers.
  }];
  let arguments = (ins Tile_Buffer:$table, Variadic<I32>:$indices);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator]> {
  let summary = "Ends a region of a tile op";
  let arguments = (ins Optional<AnyType>:$value);
  let assemblyFormat = "($value^ `:` type($value))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>]; // an empty yield, for implicit terminators
}

//===----------------------------------------------------------------------===//
// The launch plan
//===----------------------------------------------------------------------===//

def Tile_PlanOp : Tile_Op<"plan", [IsolatedFromAbove]> {
  let summary = "The launch plan of a function";
  let description = [{
    What the runtime must know to launch the function's kernels: arguments, declared maxima, workspace,
    scratch, kernels in order (`docs/artifact.md`). It stays in the IR until the artifact is written.

    ```mlir
    tile.plan @decode {
      args = [{name = "q", dtype = "f32", shape = ["tokens", 8, 64], access = "read"} ],
      bounds = {batch = 4, kv_len = 128, q_len = 1, tokens = 4}, error_word = 0, scratch = 4096, workspace = 320,
      workspace_head = 256, kernels = [{symbol = "decode_k0", op = "tile.batch", workers = "one"} ]
    }
    ```

    A kernel of a GPU has, in place of workers, how it is launched and what each of its parameters is:

    ```mlir
    tile.plan @prefill {
      args = [{name = "q", dtype = "bf16", shape = ["tokens", 8, 128], access = "read"} ],
      bounds = {batch = 4, kv_len = 128, q_len = 64, tokens = 256}, workspace = 256, workspace_head = 256,
      kernels = [{symbol = "prefill_k0", op = "tile.space", threads = 384, shared = 196720, ctas_per_sm = 1, params = [
        {kind = "map", arg = 0, element = "bf16", box = [64, 128, 2, 1], dims = [
          {extent = 64}, {extent_of = 0, stride_of = 0}, {extent = 2, stride = 128}, {extent_of = 1, stride_of = 1} ]},
        {kind = "extent", arg = 0, dim = 0}, {kind = "workspace", offset = 0}, {kind = "error_word"} ]} ]
    }
    ```

    Constraints:
    * C1: workspace and workspace_head are integers of at least 0, as are scratch and error_word of the host's kernels
      (counters too, where there).
    * C2: bounds maps names to integers; graph, where there, names the graph that the function is a variant of.
    * C3: each of args has a name, a dtype, a shape of integers, symbols and unit, and an access: read, write or
      readwrite; align, where there, is an integer.
    * C4: each of kernels has a symbol and either workers (one or all), or threads, shared, params, and ctas or
      ctas_per_sm; the first is not early.
    * C5: each of a kernel's params has a kind and that kind's keys.
    * C6: init, where there, lists what the workspace holds at first besides its head, each with an offset, a size and a
      byte.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$plan);
  let assemblyFormat = "$sym_name $plan attr-dict";
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_TILE_IR_TILEOPS
