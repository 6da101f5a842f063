//===- AttnOps.td - operations of the attn dialect ---------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_ATTNOPS
#define PAGEFOLD_DIALECT_ATTN_IR_ATTNOPS

include "pagefold/Dialect/Attn/IR/AttnBase.td"
include "pagefold/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Operand types
//===----------------------------------------------------------------------===//

/// [tokens, heads, head_dim]
def Attn_Tokens : RankedTensorOf<[F32, F16, BF16], [HasAnyRankOfPred<[3]>], "[tokens, heads, head_dim] tensor">;
def Attn_Pages : RankedTensorOf<[F32, F16, BF16, F8E4M3FN], [HasAnyRankOfPred<[4]>], "rank-4 tensor of pages">;
def Attn_Rows : RankedTensorOf<[I32], [HasAnyRankOfPred<[1]>], "1-D i32 tensor">;
def Attn_Table : RankedTensorOf<[I32], [HasAnyRankOfPred<[1, 2]>], "1-D or 2-D i32 tensor">;
def Attn_Positions : RankedTensorOf<[I32, I64], [HasAnyRankOfPred<[1]>], "1-D i32 or i64 tensor">;
def Attn_F32Vector : RankedTensorOf<[F32], [HasAnyRankOfPred<[1]>], "1-D f32 tensor">;
def Attn_F32Matrix : RankedTensorOf<[F32], [HasAnyRankOfPred<[2]>], "2-D f32 tensor">;
def Attn_Lse : RankedTensorOf<[F32], [HasAnyRankOfPred<[2]>], "[tokens, heads] f32 tensor">;
def Attn_Weight : RankedTensorOf<[F32, F16, BF16], [HasAnyRankOfPred<[1]>], "1-D tensor">;
def Attn_SymbolValue : AnyTypeOf<[I32, Attn_Rows], "i32 or [batch] i32 tensor">;
def Attn_Capture : AnyTypeOf<[F32, I32, AnyRankedTensor, Attn_PagedKVType], "scalar, tensor or cache">;

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

def Attn_CacheOp : Attn_Op<"cache", [Pure, AttrSizedOperandSegments]> {
  let summary = "Builds a paged cache from pages, page table and lengths";
  let description = [{
    Key `k` of request `r` lies in page `table[r, k floordiv S]`, slot `k mod S`. The table has padded
    rows (`tensor<B x W x i32>`), or is one list (`tensor<? x i32>`) with row starts, clause
    `starts(%s : tensor<B+1 x i32>)`. Entries past `ceildiv(lens[r], S)` are never read.

    `layout(nhd)`: pages are `[P, S, HK, D]`; `layout(hnd)`: `[P, HK, S, D]`. Strides are run-time
    values, so K and V may be views of one allocation. Appends write into these pages: build one cache of them
    a graph, two would be one memory under two names.

    ```mlir
    %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens) layout(nhd)
      : tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x?xi32>, tensor<?xi32>
      -> !attn.paged_kv<8 heads, 128 x 128, bf16, page 16>
    ```

    Pages of f8E4M3FN come with scales, finite and above 0: element `b` of KV head `g` stands for `b * k_scale[g]`
    in K and `b * v_scale[g]` in V. Attention computes with these values, and appends round to them.

    ```mlir
    %cache = attn.cache %k_pages, %v_pages table(%table) lens(%lens)
      scales(%k_scale, %v_scale : tensor<8xf32>, tensor<8xf32>) layout(nhd)
      : tensor<?x16x8x128xf8E4M3FN>, tensor<?x16x8x128xf8E4M3FN>, tensor<?x?xi32>, tensor<?xi32>
      -> !attn.paged_kv<8 heads, 128 x 128, f8E4M3FN, page 16>
    ```

    Constraints:
    * C1: the element types of both page tensors and of the result are the same.
    * C2: the static dims of `k_pages` are those of the result in the layout's order: S, HK, DK.
    * C3: likewise `v_pages`: S, HK, DV; and both have the same number of pages where static.
    * C4: the table has rank 2 without `starts`, and rank 1 with it.
    * C5: static sizes agree on B: `table` has B rows, `starts` B + 1 entries, `lens` B.
    * C6: elements of f8E4M3FN have scales, both `[HK]`; others have none.
  }];
  let arguments = (ins Attn_Pages:$kPages, Attn_Pages:$vPages, Attn_Table:$table, Optional<Attn_Rows>:$starts,
                       Attn_Rows:$lens, Optional<Attn_F32Vector>:$kScale, Optional<Attn_F32Vector>:$vScale,
                       DefaultValuedAttr<Attn_Layout, "Layout::NHD">:$layout);
  let results = (outs Attn_PagedKVType:$cache);
  let assemblyFormat = [{
    $kPages `,` $vPages `table` `(` $table `)` (`starts` `(` $starts^ `:` type($starts) `)`)? `lens` `(` $lens `)`
    (`scales` `(` $kScale^ `,` $vScale `:` type($kScale) `,` type($vScale) `)`)? `layout` `(` $layout `)` attr-dict `:` type($kPages) `,` type($vPages) `,` type($table)
    `,` type($lens) `->` qualified(type($cache))
  }];
  let hasVerifier = 1;
}

def Attn_AppendOp : Attn_Op<"append", [AttrSizedOperandSegments, SingleBlock, IsolatedFromAbove,
    AllTypesMatch<["cache", "result"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Writes new K and V rows into the pages";
  let description = [{
    Row `i` of request `r`'s `N` rows goes to position `p = lens[r] - N + i`: page
    `table[r, p floordiv S]`, slot `p mod S`. Rows with `p < 0` are not written. The result is the cache
    with these rows in it; the operand may not be used afterwards. Once lowered this is in place, which is
    why the op counts as a write even where nothing uses its result.

    ```mlir
    %c = attn.append %k, %v to %cache rows(%rows)
      : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
    ```

    Into a cache with scales a row `x` of KV head `g` goes as `x / scale[g]`, a quotient of f32 rounded to the nearest
    f8E4M3FN, ties to even. What lies beyond +-448, the infinities too, becomes +-448; NaN stays NaN.

    `key(%x : type, %inner = %outer : type) {...}` and `value(...) {...}` are row-wise prologues that fusion
    fills: what they yield for the new rows is what is written. `%x` stands for `key` (or `value`); the ops
    inside are `attn.rope`, `attn.rms_norm` and elementwise `linalg.generic`.

    ```mlir
    %c = attn.append %k, %v to %cache rows(%rows)
      key(%x : tensor<?x8x128xbf16>, %w = %weight : tensor<128xf32>) {
        %n = attn.rms_norm %x, %w eps 1.0e-5 : tensor<?x8x128xbf16>, tensor<128xf32>
        attn.yield %n : tensor<?x8x128xbf16>
      }
      : tensor<?x8x128xbf16>, tensor<?x8x128xbf16>, !cache, tensor<?xi32>
    ```

    Constraints:
    * C1: key is `[T, HK, DK]`, value `[T, HK, DV]`, with the same T where static.
    * C2: key and value (or what their prologues yield) have the cache's element type, or any where it has scales.
    * C3: a prologue's block takes the tensor and the captures, and yields a tensor of the same shape.
    * C4: the ops of a prologue are row-wise (`attn.rope`, `attn.rms_norm`, elementwise `linalg.generic`), or
      name a destination (`tensor.empty`, `tensor.dim`, `arith.constant`).
    * C5: the cache is not used after this op, also not by the next turn of a loop around it.
  }];
  let arguments = (ins Attn_Tokens:$key, Attn_Tokens:$value,
                       Arg<Attn_PagedKVType, "the cache written", [MemWrite]>:$cache, Attn_Rows:$rows,
                       Variadic<Attn_Capture>:$keyCaptures, Variadic<Attn_Capture>:$valueCaptures);
  let results = (outs Attn_PagedKVType:$result);
  let regions = (region MaxSizedRegion<1>:$keyPrologue, MaxSizedRegion<1>:$valuePrologue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Its regions with their captures.
    ::llvm::SmallVector<CapturingRegion> getCapturingRegions();
  }];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Attn_AttentionOp : Attn_Op<"attention", [Pure, AttrSizedOperandSegments, SingleBlock, IsolatedFromAbove,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames", "getAsmBlockArgumentNames"]>]> {
  let summary = "Attention of ragged queries over dense or paged keys and values";
  let description = [{
    For request `r`, query head `h` with KV head `g = h floordiv G`, row `q`, and all keys `k` that the
    mask makes visible:

    ```
    s[k] = score(scale * sum_d query[q, h, d] * K[k, g, d], q, k, h, r)
    m    = max_k s[k]                       (and the sink, if any)
    l    = sum_k exp(s[k] - m)              (+ exp(sink[h] - m))
    o    = epilogue(sum_k exp(s[k] - m) * V[k, g, :] / l, q, h, d)
    lse  = m + ln(l)                        (natural log, f32; holds the sink)
    ```

    A row that sees nothing gives `o = 0` (before the epilogue) and `lse = -inf` (the sink where there is one).
    A score of -inf removes its key.

    Keys and values come from a paged cache, or dense as `[tokens, HK, D]` with offsets `kv_rows`.
    Regions over scalars: `score(%s, %q, %k, %h, %b)` with `%s : f32` and the indices `i32`, and
    `epilogue(%o, %q, %h, %d)` with `%o : f32`; they hold arith and math ops, `attn.lookup`,
    `attn.position` and `attn.token`; values from outside come in as captures `%inner = %outer : type`.
    `query(%x : type) {...}` is a row-wise prologue as in `attn.append`.

    ```mlir
    %o = attn.attention %q, %cache rows(%rows) scale 0.088388 mask <causal and window(4096)>
      score(%s, %qi, %ki, %h, %b, %table = %slopes : tensor<32xf32>) {
        %m = attn.lookup %table[%h] : tensor<32xf32> -> f32
        %p = attn.position %qi
        %d = arith.subi %p, %ki : i32
        %f = arith.sitofp %d : i32 to f32
        %bias = arith.mulf %m, %f : f32
        %r = arith.subf %s, %bias : f32
        attn.yield %r : f32
      }
      : tensor<?x32x128xbf16>, !cache, tensor<?xi32> -> tensor<?x32x128xbf16>
    ```

    Over dense keys and values, with the log-sum-exp:

    ```mlir
    %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 0.125
      : tensor<?x9x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>, tensor<?xi32>, tensor<?xi32>
      -> tensor<?x9x64xf32>, tensor<?x9xf32>
    ```

    Clauses come in any order; `rows` and `scale` are required, and without `mask` every key is visible.
    Further clauses: `symbols(%w : i32, %s : tensor<?xi32>)` binds the mask's symbols in order,
    `row_values(%starts : tensor<?xi32>)` its row values, one for each token of the batch;
    `sinks(%s : tensor<32xf32>)`; `bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)` masks by bits: key
    `k` of row `q` is visible only if bit `starts[r] + q * kv_len + k` (least significant first) is set.

    Constraints:
    * C1: exactly one of a cache, or key, value and kv_rows is given.
    * C2: query is `[T, HQ, DK]`, the result `[T, HQ, DV]`, lse `[T, HQ]` f32; HQ, HK, DK and DV are static.
    * C3: HQ is a multiple of HK, and the group HQ / HK is at most 128.
    * C4: DK and DV are multiples of 8 from 8 to 512, and agree with the keys' and values'.
    * C5: query (or what its prologue yields), keys and values have one element type; the result's may differ, and
      of a cache with scales the query's too.
    * C6: the scale is finite and > 0.
    * C7: `symbols` and `row_values` bind as many values as the mask names; a row value is `[T]` i32.
    * C8: sinks is `[HQ]` f32.
    * C9: bitmap needs starts, and the other way round.
    * C10: the score region, where there is one, takes (f32, i32, i32, i32, i32) and the captures (f32,
      i32 or tensors), and yields f32.
    * C11: the epilogue, where there is one, takes (f32, i32, i32, i32) and the captures (f32, i32
      or tensors), and yields f32.
    * C12: score and epilogue hold only ops of the white list (`attn.lookup`, `attn.position`,
      `attn.token`, and the arith and math of `docs/howto/add-an-epilogue-op.md`) over f32, i32 and i1, and
      f16 and bf16 between conversions.
    * C13: the query prologue is row-wise, as in `attn.append` C3 and C4.
  }];
  let arguments = (ins Attn_Tokens:$query, Optional<Attn_PagedKVType>:$cache, Optional<Attn_Tokens>:$key,
                       Optional<Attn_Tokens>:$value, Attn_Rows:$rows, Optional<Attn_Rows>:$kvRows,
                       Variadic<Attn_SymbolValue>:$symbols, Variadic<Attn_Rows>:$rowValues,
                       Optional<Attn_F32Vector>:$sinks, Optional<RankedTensorOf<[I8], [HasAnyRankOfPred<[1]>]>>:$bitmap,
                       Optional<RankedTensorOf<[I64], [HasAnyRankOfPred<[1]>]>>:$bitmapStarts,
                       Variadic<Attn_Capture>:$queryCaptures, Variadic<Attn_Capture>:$scoreCaptures,
                       Variadic<Attn_Capture>:$epilogueCaptures, F64Attr:$scale, Attn_MaskAttr:$mask);
  let results = (outs Attn_Tokens:$result, Optional<Attn_Lse>:$lse);
  let regions = (region MaxSizedRegion<1>:$queryPrologue, MaxSizedRegion<1>:$score,
                        MaxSizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    int64_t getQueryHeads();
    int64_t getKVHeads();
    int64_t getGroup() { return getQueryHeads() / getKVHeads(); }
    int64_t getKDim();
    int64_t getVDim();
    /// Element type of keys and values.
    ::mlir::Type getKVElementType();
    /// Its regions with their captures.
    ::llvm::SmallVector<CapturingRegion> getCapturingRegions();
  }];
}

def Attn_MergeOp : Attn_Op<"merge", [Pure, AllTypesMatch<["outA", "outB", "result"]>,
    AllTypesMatch<["lseA", "lseB", "lse"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Folds two attention states into one";
  let description = [{
    Both states are over disjoint sets of keys. With `M = max(lse_a, lse_b)` and `w_x = exp(lse_x - M)`:
    `result = (w_a out_a + w_b out_b) / (w_a + w_b)` and `lse = M + ln(w_a + w_b)`. A state with
    `lse = -inf` is the identity: its `out` never enters as a factor. The log is the natural one.

    ```mlir
    %o, %lse = attn.merge (%oa, %la), (%ob, %lb) : tensor<?x32x128xbf16>, tensor<?x32xf32>
    ```

    Constraints:
    * C1: both outs have one type `[T, HQ, DV]`, both lse one type `[T, HQ]` with the same T and HQ.
  }];
  let arguments = (ins Attn_Tokens:$outA, Attn_Lse:$lseA, Attn_Tokens:$outB, Attn_Lse:$lseB);
  let results = (outs Attn_Tokens:$result, Attn_Lse:$lse);
  let assemblyFormat = [{
    ` ` `(` $outA `,` $lseA `)` `,` `(` $outB `,` $lseB `)` attr-dict `:` type($outA) `,` type($lseA)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Small row-wise operations
//===----------------------------------------------------------------------===//

def Attn_RopeOp : Attn_Op<"rope", [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["cos", "sin"]>, DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RowWiseOpInterface>]> {
  let summary = "Rotary position embedding";
  let description = [{
    Rotates pairs of the first `R = 2 * dim(cos, 1)` elements of every head by the angle whose cosine and
    sine stand in row `p` of the tables, `p` the token's position; the other elements pass through
    bit-unchanged. With `half_split` the pair is `(x[j], x[j + R/2])`, with `interleaved`
    `(x[2j], x[2j+1])`, `j < R/2`:

    ```
    y_a = x_a cos[p, j] - x_b sin[p, j],   y_b = x_b cos[p, j] + x_a sin[p, j]
    ```

    computed in f32. Positions come from the cache (`rows(%rows) of %cache`) or from a tensor
    (`positions(%p)`). A row with a negative position passes through; a position past the table is an
    error of that request.

    ```mlir
    %y = attn.rope %x, %cos, %sin rows(%rows) of %cache half_split
      : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi32>, !cache
    %z = attn.rope %x, %cos, %sin positions(%p) interleaved
      : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?xi64>
    ```

    Constraints:
    * C1: cos and sin have one type, `[positions, R/2]` f32.
    * C2: R <= the head dim.
    * C3: either rows and cache, or positions are given.
    * C4: positions has T entries where static.
  }];
  let arguments = (ins Attn_Tokens:$input, Attn_F32Matrix:$cos, Attn_F32Matrix:$sin, Optional<Attn_Rows>:$rows,
                       Optional<Attn_PagedKVType>:$cache, Optional<Attn_Positions>:$positions,
                       DefaultValuedAttr<Attn_Pairing, "Pairing::HalfSplit">:$pairing);
  let results = (outs Attn_Tokens:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin (`rows` `(` $rows^ `)` `of` $cache)? (`positions` `(` $positions^ `)`)? $pairing
    attr-dict `:` type($input) `,` type($cos) `,`
    custom<RopeSourceTypes>(type($rows), type($cache), type($positions))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_RmsNormOp : Attn_Op<"rms_norm", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<RowWiseOpInterface>]> {
  let summary = "Root-mean-square norm of every head";
  let description = [{
    `y[d] = x[d] / sqrt(sum_d x[d]^2 / D + eps) * weight[d]`, over the D elements of each head, in f32.

    ```mlir
    %y = attn.rms_norm %x, %weight eps 1.0e-5 : tensor<?x32x128xbf16>, tensor<128xf32>
    ```

    Constraints:
    * C1: weight has D entries.
    * C2: eps is finite and > 0.
  }];
  let arguments = (ins Attn_Tokens:$input, Attn_Weight:$weight, F64Attr:$eps);
  let results = (outs Attn_Tokens:$result);
  let assemblyFormat = "$input `,` $weight `eps` $eps attr-dict `:` type($input) `,` type($weight)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Inside the regions
//===----------------------------------------------------------------------===//

def Attn_LookupOp : Attn_Op<"lookup", [Pure]> {
  let summary = "Reads one element of a captured table";
  let description = [{
    Inside a score or epilogue region. Float tables give f32, integer tables i32. Each index is clamped
    into the table, so that no index reads outside it.

    ```mlir
    %m = attn.lookup %slopes[%h] : tensor<32xf32> -> f32
    ```

    Constraints:
    * C1: as many indices as the table has dims.
    * C2: the table's elements are f32, f16, bf16 (result f32) or i32, i8 (result i32).
    * C3: it stands in a score or epilogue region, and the table is a capture.
  }];
  let arguments = (ins AnyRankedTensor:$table, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_PositionOp : Attn_Op<"position", [Pure]> {
  let summary = "The position of a query row in its request: q + kv_len - q_len";
  let description = [{
    ```mlir
    %p = attn.position %q
    ```

    Constraints:
    * C1: it stands in a score or epilogue region, and its operand is that region's row index.
  }];
  let arguments = (ins I32:$row);
  let results = (outs I32:$result);
  let assemblyFormat = "$row attr-dict";
  let hasVerifier = 1;
}

def Attn_TokenOp : Attn_Op<"token", [Pure]> {
  let summary = "The row of a query row in the ragged batch: rows[r] + q";
  let description = [{
    ```mlir
    %t = attn.token %q
    ```

    Constraints:
    * C1: it stands in a score or epilogue region, and its operand is that region's row index.
  }];
  let arguments = (ins I32:$row);
  let results = (outs I32:$result);
  let assemblyFormat = "$row attr-dict";
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ParentOneOf<["AttentionOp", "AppendOp"]>]> {
  let summary = "Ends a region of an attn op";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // PAGEFOLD_DIALECT_ATTN_IR_ATTNOPS
