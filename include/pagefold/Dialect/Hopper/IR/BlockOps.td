//===- BlockOps.td - products of one warp, words ---------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_BLOCKOPS
#define PAGEFOLD_DIALECT_HOPPER_IR_BLOCKOPS

include "pagefold/Dialect/Hopper/IR/HopperBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Products of a warp
//===----------------------------------------------------------------------===//

class Hopper_VectorOf<int count, Type element, string name, string builder>
    : Type<VectorOfLengthAndType<[count], [element]>.predicate, name, "::mlir::VectorType">,
      BuildableType<"::mlir::VectorType::get({" # count # "}, $_builder." # builder # ")">;
def Hopper_LeftBlock : Hopper_VectorOf<4, I32, "vector<4xi32>", "getI32Type()">;
def Hopper_RightBlock : Hopper_VectorOf<2, I32, "vector<2xi32>", "getI32Type()">;
def Hopper_ResultBlock : Hopper_VectorOf<4, F32, "vector<4xf32>", "getF32Type()">;

def Hopper_LoadBlockOp : Hopper_Op<"load_block"> {
  let summary = "Warp: loads a left block from its ring (ldmatrix)";
  let description = [{
    16 rows of the turn's tile from `row` on, in columns `column` to `column` + 15; `transposed`: the block's rows are the
    tile's columns. Of bytes it is 32 columns, which `hopper.widen_block` makes two blocks of.

    ```mlir
    %a = hopper.load_block %k[%t] of %w row 0 column 16 : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    %b = hopper.load_block %v[%t] of %w row 0 column 0 transposed : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    %c = hopper.load_block %b8[%t] of %w row 16 column 32 : !hopper.ring<3 x 32 x 128, f8E4M3FN warps 8>
    ```

    Constraints:
    * C1: the row is a multiple of 16, and the tile has 16 rows from there on.
    * C2: the column is a multiple of 32 bytes below the tile's depth.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, I32:$warp, I64Attr:$row, I64Attr:$column, UnitAttr:$transposed);
  let results = (outs Hopper_LeftBlock:$result);
  let assemblyFormat = [{
    $ring `[` $turn `]` `of` $warp `row` $row `column` $column (`transposed` $transposed^)? attr-dict `:` type($ring)
  }];
  let hasVerifier = 1;
}

def Hopper_WidenBlockOp : Hopper_Op<"widen_block", [Pure]> {
  let summary = "One of the two left blocks of f16 that a loaded block of f8E4M3FN holds";
  let description = [{
    Part 0 has the first 16 of the 32 columns, part 1 the others. No value moves between lanes, so that columns stand in another order: the depth
    of a block is 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, .. (its lane holds four neighbours), and `transposed` its rows are
    0, 2, 4, .., 14, 1, 3, .., 15. An f16 holds every f8E4M3FN exactly.

    ```mlir
    %h = hopper.widen_block %a part 0
    %v = hopper.widen_block %b part 1 transposed
    ```

    Constraints:
    * C1: the part is 0 or 1.
  }];
  let arguments = (ins Hopper_LeftBlock:$block, I64Attr:$part, UnitAttr:$transposed);
  let results = (outs Hopper_LeftBlock:$result);
  let assemblyFormat = "$block `part` $part (`transposed` $transposed^)? attr-dict";
  let hasVerifier = 1;
}

def Hopper_ContractBlockOp : Hopper_Op<"contract_block", [Pure]> {
  let summary = "Warp: the product of a left and a right block, added to a block (mma.sync)";
  let description = [{
    ```mlir
    %s = hopper.contract_block %a, %q into %c of bf16
    ```

    Constraints:
    * C1: elements are bf16 or f16.
  }];
  let arguments = (ins Hopper_LeftBlock:$lhs, Hopper_RightBlock:$rhs, Hopper_ResultBlock:$acc, TypeAttr:$element);
  let results = (outs Hopper_ResultBlock:$result);
  let assemblyFormat = "$lhs `,` $rhs `into` $acc `of` $element attr-dict";
  let hasVerifier = 1;
}

def Hopper_RoundPairOp : Hopper_Op<"round_pair", [Pure]> {
  let summary = "Rounds two f32 to a pair, the first in its lower half";
  let description = [{
    A pair of f8E4M3FN takes 16 bits, and the upper ones are zeros; what lies beyond the type's numbers becomes the greatest.

    ```mlir
    %h = hopper.round_pair %x to bf16
    %b = hopper.round_pair %x to f8E4M3FN
    ```

    Constraints:
    * C1: elements are bf16, f16 or f8E4M3FN.
  }];
  let arguments = (ins Hopper_Rows:$values, TypeAttr:$element);
  let results = (outs I32:$result);
  let assemblyFormat = "$values `to` $element attr-dict";
  let hasVerifier = 1;
}

def Hopper_TransposePairsOp : Hopper_Op<"transpose_pairs"> {
  let summary = "Warp: transposes the 8 x 8 elements that its lanes' pairs are (movmatrix)";
  let description = [{
    Lane l holds row l floordiv 4, columns 2 (l mod 4) and the next one, before and after.

    ```mlir
    %t = hopper.transpose_pairs %h
    ```
  }];
  let arguments = (ins I32:$pairs);
  let results = (outs I32:$result);
  let assemblyFormat = "$pairs attr-dict";
}

def Hopper_ColumnReduceOp : Hopper_Op<"column_reduce"> {
  let summary = "Warp: reduces over the eight lanes that share their columns of a result block";
  let description = [{
    The two values are those of the lane's two columns; all eight lanes get the result.

    ```mlir
    %m = hopper.column_reduce max %part
    ```
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, Hopper_Rows:$columns);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $columns attr-dict";
}

//===----------------------------------------------------------------------===//
// Pairs in memory
//===----------------------------------------------------------------------===//

def Hopper_LoadPairOp : Hopper_Op<"load_pair", [
    MemoryEffects<[MemRead]>,
    TypesMatchWith<"the result is a pair of elements", "pointer", "result",
                   "pairTypeOf(::llvm::cast<PointerType>($_self))">]> {
  let summary = "Loads two neighbouring elements, or zeros where a condition does not hold";
  let description = [{
    The index is even, and the pointer aligned to two elements. Two f32 come as a vector, elements of 16 bits in one word. Two f32
    may also be another number where the condition does not hold.

    ```mlir
    %q = hopper.load_pair %query[%i] if %inside : !hopper.pointer<bf16>, i64
    %c = hopper.load_pair %cos[%i] if %inside else 1.0 : !hopper.pointer<f32>, i64
    ```

    Constraints:
    * C1: the pointer is to bf16, f16 or f32.
    * C2: another number than zero comes with f32.
  }];
  let arguments = (ins Hopper_PointerType:$pointer, Hopper_Index:$index, I1:$condition, OptionalAttr<F32Attr>:$otherwise);
  let results = (outs AnyTypeOf<[I32, Hopper_Rows]>:$result);
  let assemblyFormat = [{
    $pointer `[` $index `]` `if` $condition (`else` $otherwise^)? attr-dict `:` type($pointer) `` custom<IndexType>(type($index))
  }];
  let hasVerifier = 1;
}

def Hopper_StorePairOp : Hopper_Op<"store_pair", [MemoryEffects<[MemWrite]>]> {
  let summary = "Each calling thread: stores a pair where a condition holds";
  let description = [{
    The index is even, and the pointer aligned to two elements. Of a pair of f8E4M3FN the lower 16 bits are stored.

    ```mlir
    hopper.store_pair %h, %out[%i] if %inside : !hopper.pointer<bf16>, i64
    ```

    Constraints:
    * C1: the pointer is to bf16, f16 or f8E4M3FN.
  }];
  let arguments = (ins I32:$pair, Hopper_PointerType:$pointer, Hopper_Index:$index, I1:$condition);
  let assemblyFormat = "$pair `,` $pointer `[` $index `]` `if` $condition attr-dict `:` type($pointer) `` custom<IndexType>(type($index))";
  let hasVerifier = 1;
}

def Hopper_PutPairOp : Hopper_Op<"put_pair", [MemoryEffects<[MemWrite]>]> {
  let summary = "Each calling thread: stores a pair into the turn's stage of its warp's ring, where a condition holds";
  let description = [{
    For rows that stand in no memory that the ring is filled from, or not yet. Between the wait for the stage and the
    loads of its blocks, with the warp's lanes brought together before those; `hopper.fence_shared` comes before the stage is filled again. The column is even.

    ```mlir
    hopper.put_pair %h, %k[%t] of %w row %r column %c if %inside : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    ```
  }];
  let arguments = (ins I32:$pair, Hopper_RingType:$ring, I32:$turn, I32:$warp, I32:$row, I32:$column, I1:$condition);
  let assemblyFormat = [{
    $pair `,` $ring `[` $turn `]` `of` $warp `row` $row `column` $column `if` $condition attr-dict `:` type($ring)
  }];
}

//===----------------------------------------------------------------------===//
// Words: between the warps of a CTA
//===----------------------------------------------------------------------===//

def Hopper_AllocWordsOp : Hopper_Op<"alloc_words", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Words in shared memory, not initialised";
  let description = [{
    `over` a ring, they begin where its tiles begin, and take what lies behind: a warp whose stages are not in use may
    keep words in their memory.

    ```mlir
    %w = hopper.alloc_words : !hopper.words<1024>
    %k = hopper.alloc_ring readers 0 : !hopper.ring<3 x 16 x 128, bf16 warps 8>
    %o = hopper.alloc_words over %k : !hopper.words<32768>, !hopper.ring<3 x 16 x 128, bf16 warps 8>
    ```
  }];
  let arguments = (ins Optional<Hopper_RingType>:$over);
  let results = (outs Hopper_WordsType:$result);
  let assemblyFormat = "(`over` $over^)? attr-dict `:` type($result) (`,` type($over)^)?";
}

/// One word, or two or four neighbours.
def Hopper_WordValue : AnyTypeOf<[I32, F32, VectorOfLengthAndType<[2, 4], [I32, F32]>]>;

def Hopper_LoadWordsOp : Hopper_Op<"load_words", [MemoryEffects<[MemRead]>]> {
  let summary = "Loads one word, or two or four";
  let description = [{
    The index is a multiple of their number.

    ```mlir
    %x = hopper.load_words %w[%i] : !hopper.words<1024> -> vector<4xf32>
    ```
  }];
  let arguments = (ins Hopper_WordsType:$words, I32:$index);
  let results = (outs Hopper_WordValue:$value);
  let assemblyFormat = "$words `[` $index `]` attr-dict `:` type($words) `->` type($value)";
}

def Hopper_StoreWordsOp : Hopper_Op<"store_words", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stores one word, or two or four";
  let description = [{
    The index is a multiple of their number.

    ```mlir
    hopper.store_words %x, %w[%i] : vector<4xf32>, !hopper.words<1024>
    ```
  }];
  let arguments = (ins Hopper_WordValue:$value, Hopper_WordsType:$words, I32:$index);
  let assemblyFormat = "$value `,` $words `[` $index `]` attr-dict `:` type($value) `,` type($words)";
}

//===----------------------------------------------------------------------===//
// Packets: between CTAs
//===----------------------------------------------------------------------===//

def Hopper_HandOverOp : Hopper_Op<"hand_over"> {
  let summary = "Each calling thread: stores a packet that is its own flag";
  let description = [{
    A packet is one or more vectors of four f32, one behind the other from `offset` on, which is a multiple of 4. In memory its bits are inverted: a word
    of 0 means that it is not there yet, so that no fence and no flag is needed. The word whose inverse
    would be 0, which only a NaN is, is stored as another NaN.

    ```mlir
    hopper.hand_over %x, %y to %states[%offset] : !hopper.pointer<f32>
    ```

    Constraints:
    * C1: the pointer is to f32.
    * C2: there are from 1 to 32 vectors.
  }];
  let arguments = (ins Variadic<Hopper_ResultBlock>:$values, Hopper_PointerType:$states, I32:$offset);
  let assemblyFormat = "$values `to` $states `[` $offset `]` attr-dict `:` type($states)";
  let hasVerifier = 1;
}

def Hopper_CollectOp : Hopper_Op<"collect"> {
  let summary = "Warp: waits for packets that other CTAs hand over, and leaves their places empty";
  let description = [{
    Packet i, of `packets` with the same number of vectors, is at `offset`, a multiple of 4, + i * `stride`. Those from `count` on are not waited for: their
    values are zeros. All loads are under way before the first is waited for. The results are the vectors of packet 0, then those
    of packet 1, and so on. The places hold zeros again afterwards, as the workspace does before the first launch.

    ```mlir
    %a:2 = hopper.collect 2 packets from %states[%offset] stride 4160 below %count : !hopper.pointer<f32> -> vector<4xf32>, vector<4xf32>
    ```

    Constraints:
    * C1: the pointer is to f32.
    * C2: there are from 1 to 32 vectors in all, as many for each packet.
    * C3: the stride is a multiple of 4, at least that of one packet's words.
  }];
  let arguments = (ins I64Attr:$packets, Hopper_PointerType:$states, I32:$offset, I64Attr:$stride, I32:$count);
  let results = (outs Variadic<Hopper_ResultBlock>:$values);
  let assemblyFormat = [{
    $packets `packets` `from` $states `[` $offset `]` `stride` $stride `below` $count attr-dict
    `:` type($states) `->` type($values)
  }];
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_HOPPER_IR_BLOCKOPS
