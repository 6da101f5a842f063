//===- GlobalMemoryOps.td - loads, stores, errors -------------*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_GLOBALMEMORYOPS
#define PAGEFOLD_DIALECT_HOPPER_IR_GLOBALMEMORYOPS

include "pagefold/Dialect/Hopper/IR/HopperBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hopper_LoadOp : Hopper_Op<"load", [
    MemoryEffects<[MemRead]>, AttrSizedOperandSegments,
    TypesMatchWith<"the result is an element", "pointer", "result",
                   "::llvm::cast<PointerType>($_self).getElementType()">]> {
  let summary = "Loads an element, or takes another value where a condition does not hold";
  let description = [{
    With a condition it is one predicated instruction, no branch: a block of its own costs more than the load.

    ```mlir
    %len = hopper.load %lens[%request] : !hopper.pointer<i32>
    %page = hopper.load %table[%slot] if %valid else %none : !hopper.pointer<i32>, i64
    ```

    Constraints:
    * C1: the pointer is to i8, i32, i64, f16, bf16 or f32.
    * C2: a condition comes with another value, which is an element.
  }];
  let arguments = (ins Hopper_PointerType:$pointer, Hopper_Index:$index, Optional<I1>:$condition,
                       Optional<AnyType>:$otherwise);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $pointer `[` $index `]` (`if` $condition^ `else` $otherwise)? attr-dict
    `:` type($pointer) `` custom<LoadTypes>(ref(type($pointer)), type($index), ref($otherwise), type($otherwise))
  }];
  let hasVerifier = 1;
}

def Hopper_StoreOp : Hopper_Op<"store", [
    MemoryEffects<[MemWrite]>,
    TypesMatchWith<"the value is an element", "pointer", "value",
                   "::llvm::cast<PointerType>($_self).getElementType()">]> {
  let summary = "Each calling thread: stores an element, where a condition holds";
  let description = [{
    ```mlir
    hopper.store %count, %counts[%cta] if %first : !hopper.pointer<i32>
    ```

    Constraints: C1 of `hopper.load`.
  }];
  let arguments = (ins AnyType:$value, Hopper_PointerType:$pointer, Hopper_Index:$index, Optional<I1>:$condition);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` (`if` $condition^)? attr-dict `:` type($pointer) `` custom<IndexType>(type($index))
  }];
  let hasVerifier = 1;
}

/// What a warp keeps in global memory as it lies in its registers.
def Hopper_LaneValues : AnyTypeOf<[Hopper_FragmentType, Hopper_Rows]>;

def Hopper_StoreLanesOp : Hopper_Op<"store_lanes"> {
  let summary = "Warp: stores its registers of a fragment, or of values of rows, lane beside lane";
  let description = [{
    A fragment with r registers a lane takes 32 r elements from `offset` on: register i of lane l lies at
    128 (i floordiv 4) + 4 l + i mod 4, so that a warp writes whole lines. Values of rows take 64: 2 l and 2 l + 1.
    `hopper.load_lanes` of the same lanes gets them back; nothing else is to read them.

    ```mlir
    hopper.store_lanes %o, %states[%offset] : !hopper.fragment<64 x 128, f32>, !hopper.pointer<f32>
    ```

    Constraints:
    * C1: the pointer and the fragment are of f32.
  }];
  let arguments = (ins Hopper_LaneValues:$value, Hopper_PointerType:$pointer, I32:$offset);
  let assemblyFormat = "$value `,` $pointer `[` $offset `]` attr-dict `:` type($value) `,` type($pointer)";
  let hasVerifier = 1;
}

def Hopper_LoadLanesOp : Hopper_Op<"load_lanes"> {
  let summary = "Warp: loads what hopper.store_lanes stored";
  let description = [{
    Past the L1, for another multiprocessor may have stored it.

    ```mlir
    %o = hopper.load_lanes %states[%offset] : !hopper.pointer<f32> -> !hopper.fragment<64 x 128, f32>
    ```

    Constraints: C1 of `hopper.store_lanes`.
  }];
  let arguments = (ins Hopper_PointerType:$pointer, I32:$offset);
  let results = (outs Hopper_LaneValues:$value);
  let assemblyFormat = "$pointer `[` $offset `]` attr-dict `:` type($pointer) `->` type($value)";
  let hasVerifier = 1;
}

def Hopper_FenceGlobalOp : Hopper_Op<"fence_global"> {
  let summary = "Orders this thread's accesses to global memory before it and after it, for all of the GPU";
  let assemblyFormat = "attr-dict";
}

def Hopper_PrefetchMapOp : Hopper_Op<"prefetch_map"> {
  let summary = "One thread: brings a tensor map near, before the first copy asks for it";
  let description = [{
    ```mlir
    hopper.prefetch_map %keys : !hopper.tensor_map<box[64, 128, 2, 1, 1], bf16>
    ```
  }];
  let arguments = (ins Hopper_TensorMapType:$map);
  let assemblyFormat = "$map attr-dict `:` type($map)";
}

def Hopper_ReportOp : Hopper_Op<"report"> {
  let summary = "Each calling thread: claims the error word, where a condition holds";
  let description = [{
    The word is four i64 (docs/artifact.md). It is claimed by a compare-exchange of its first element with `request` + 1
    at system scope; who wins writes the others, the reason last: a reader that sees the reason sees all of it.

    ```mlir
    hopper.report %word, %request, %length, %bound reason 3 if %bad : !hopper.pointer<i64>
    ```

    Constraints:
    * C1: the word is of i64.
    * C2: the reason is positive.
  }];
  let arguments = (ins Hopper_PointerType:$word, I32:$request, I32:$value, I32:$limit, I64Attr:$reason, I1:$condition);
  let assemblyFormat = [{
    $word `,` $request `,` $value `,` $limit `reason` $reason `if` $condition attr-dict `:` type($word)
  }];
  let hasVerifier = 1;
}

def Hopper_StoreRowsOp : Hopper_Op<"store_rows"> {
  let summary = "Stores one value for each row of a fragment, where the row is below a limit";
  let description = [{
    `pointer[start + stride * row]` (stride 1, if none is given) for the rows of which `row` is below `limit`; one of the
    four lanes that share them stores.

    ```mlir
    hopper.store_rows %lse, %p[%start] rows %rows below %limit : !hopper.pointer<f32>
    hopper.store_rows %lse, %p[%first] stride %heads rows %rows below %limit : !hopper.pointer<f32>, i64
    ```

    Constraints:
    * C1: the pointer is to f32.
  }];
  let arguments = (ins Hopper_Rows:$values, Hopper_PointerType:$pointer, Hopper_Index:$start, Optional<I64>:$stride,
                       Hopper_RowNumbers:$rows, I32:$limit);
  let assemblyFormat = [{
    $values `,` $pointer `[` $start `]` (`stride` $stride^)? `rows` $rows `below` $limit attr-dict
    `:` type($pointer) `` custom<IndexType>(type($start))
  }];
  let hasVerifier = 1;
}

def Hopper_StoreMatrixOp : Hopper_Op<"store_matrix"> {
  let summary = "Stores the rows of a fragment that lie between 0 and a limit";
  let description = [{
    Element (r, c) goes to `pointer[offset + rows[r] * stride + c]`, where 0 <= `rows[r]` < `limit`. Offset and stride
    are multiples of 8 elements, and the pointer is aligned to 16 bytes. 16-bit elements are first exchanged in each
    quad of lanes, so that every lane stores 16 bytes and a quad 64 together; f32 pairs are stored as they are. No branch:
    all lanes of a warp call it, and the stores are predicated.

    ```mlir
    hopper.store_matrix %h, %out[%offset] stride %stride rows %rows below %limit : !hopper.fragment<64 x 128, bf16>, !hopper.pointer<bf16>
    ```

    Constraints:
    * C1: the pointer is to elements of the fragment.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Hopper_PointerType:$pointer, I64:$offset, I64:$stride,
                       Hopper_RowNumbers:$rows, I32:$limit);
  let assemblyFormat = [{
    $fragment `,` $pointer `[` $offset `]` `stride` $stride `rows` $rows `below` $limit attr-dict
    `:` type($fragment) `,` type($pointer)
  }];
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_HOPPER_IR_GLOBALMEMORYOPS
