//===- FragmentOps.td - products, arithmetic of fragments -----*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_FRAGMENTOPS
#define PAGEFOLD_DIALECT_HOPPER_IR_FRAGMENTOPS

include "pagefold/Dialect/Hopper/IR/HopperBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Fragments: matrix products
//===----------------------------------------------------------------------===//

def Hopper_ZeroOp : Hopper_Op<"zero", [Pure]> {
  let summary = "A fragment of zeros";
  let description = [{
    ```mlir
    %o = hopper.zero : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_LoadFragmentOp : Hopper_Op<"load_fragment"> {
  let summary = "Loads a left operand from a shared tile (ldmatrix)";
  let description = [{
    Rows `row` to `row` + 63 of the tile; `row` is a multiple of 64.

    ```mlir
    %q = hopper.load_fragment %ring[%t] row %r : !hopper.ring<1 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, bf16>
    ```

    Constraints:
    * C1: the fragment has the tile's elements and its columns up to the next multiple of 16, and the tile at least 64
      rows, a multiple of 64.
    * C2: the tile's order is panels.
  }];
  let arguments = (ins Hopper_RingType:$ring, I32:$turn, I32:$row);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$ring `[` $turn `]` `row` $row attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_ContractOp : Hopper_Op<"contract"> {
  let summary = "Starts a product of a fragment and a shared tile (wgmma, left operand in registers)";
  let description = [{
    A fence, one wgmma for every 16 of the depth, and the end of a group. `transposed`: a * bT, b holds a row for each
    column of the result. The result, and the operands, are in flight until `hopper.wait_contracts`: nothing else may
    touch them, not even to scale them (ptxas would serialise: C7514).

    ```mlir
    %s = hopper.contract %q, %k[%t] transposed : !hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    %a = hopper.contract %p, %v[%t] into %o : !hopper.fragment<64 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the depth agrees: the left operand's columns are the columns (transposed) or rows of the right one, where
      the columns of a tile count up to the next multiple of 16; the depth is a multiple of 16.
    * C2: the result has the rows (transposed) or columns of the right operand as its columns; an accumulator has its type.
    * C3: the result is of f32, and elements of left and right agree.
  }];
  let arguments = (ins Hopper_FragmentType:$lhs, Hopper_RingType:$rhs, I32:$turn, UnitAttr:$transposed,
                       Optional<Hopper_FragmentType>:$acc);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `[` $turn `]` (`transposed` $transposed^)? (`into` $acc^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` custom<Accumulator>(ref($acc), type($acc), type($result))
  }];
  let hasVerifier = 1;
}

def Hopper_ContractSharedOp : Hopper_Op<"contract_shared"> {
  let summary = "Starts a product of two shared tiles (wgmma, both operands in shared memory)";
  let description = [{
    As `hopper.contract`; the left operand is rows `row` to `row` + 63 of a tile, `row` a multiple of 64 and the same in
    all lanes. It costs shared-memory reads that `hopper.load_fragment` saves.

    ```mlir
    %s = hopper.contract_shared %q[%u] row %r, %k[%t] transposed : !hopper.ring<1 x 128 x 128, bf16>, !hopper.ring<2 x 128 x 128, bf16> -> !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the depth agrees: the left operand's columns are the columns (transposed) or rows of the right one, where
      the columns of a tile count up to the next multiple of 16; the depth is a multiple of 16.
    * C2: the result has the rows (transposed) or columns of the right operand as its columns; an accumulator has its type.
    * C3: the result is of f32, and elements of left and right agree.
    * C4: the left tile has at least 64 rows, a multiple of 64.
  }];
  let arguments = (ins Hopper_RingType:$lhs, I32:$lhsTurn, I32:$row, Hopper_RingType:$rhs, I32:$turn,
                       UnitAttr:$transposed, Optional<Hopper_FragmentType>:$acc);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `[` $lhsTurn `]` `row` $row `,` $rhs `[` $turn `]` (`transposed` $transposed^)? (`into` $acc^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` custom<Accumulator>(ref($acc), type($acc), type($result))
  }];
  let hasVerifier = 1;
}

def Hopper_WaitContractsOp : Hopper_Op<"wait_contracts", [AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Waits until at most `pending` later products are in flight";
  let description = [{
    `fragment` is the result of the newest product that has then ended; the op's result is its value, and the only
    one to use: nothing else orders arithmetic on registers against the wait.

    ```mlir
    %s1 = hopper.wait_contracts %s pending 1 : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: pending is from 0 to 7.
    * C2: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, I64Attr:$pending);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `pending` $pending attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fragments: element by element, row by row
//===----------------------------------------------------------------------===//

def Hopper_RowReduceOp : Hopper_Op<"row_reduce", [Pure]> {
  let summary = "Reduces what a lane holds of each of its two rows";
  let description = [{
    ```mlir
    %m = hopper.row_reduce max %s : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, Hopper_FragmentType:$fragment);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $fragment attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_QuadReduceOp : Hopper_Op<"quad_reduce"> {
  let summary = "Reduces over the four lanes that share their rows";
  let description = [{
    ```mlir
    %m = hopper.quad_reduce max %part
    ```
  }];
  let arguments = (ins Hopper_ReduceKind:$kind, Hopper_Rows:$rows);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$kind $rows attr-dict";
}

def Hopper_Exp2Op : Hopper_Op<"exp2", [Pure, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "2^(scale * x + offset of the row), approximately";
  let description = [{
    One multiply-add and one ex2.approx (2 ulp, denormals to zero) for each element.

    ```mlir
    %p = hopper.exp2 %s scale %c offset %minus_max : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, F32:$scale, Hopper_Rows:$offset);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `scale` $scale `offset` $offset attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_MaskOp : Hopper_Op<"mask", [Pure, AttrSizedOperandSegments, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Keeps the columns between each row's limits; the others become -inf";
  let description = [{
    Columns `from` to `below` - 1 of each row, as signed numbers; a limit that is not given excludes nothing.

    ```mlir
    %m = hopper.mask %s below %end : !hopper.fragment<64 x 128, f32>
    %w = hopper.mask %s from %begin below %end : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
    * C2: there is a limit.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Optional<Hopper_RowNumbers>:$begin,
                       Optional<Hopper_RowNumbers>:$end);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment (`from` $begin^)? (`below` $end^)? attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_MapOp : Hopper_Op<"map", [RecursiveMemoryEffects, SingleBlock, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Applies a scalar program to every element";
  let description = [{
    The region takes the element, for each vector of `rows` the value of the element's row, and the number of its
    column in the fragment, and yields the new element. It may use scalars and pointers from outside. The lowering writes
    it once for each of the lane's elements: what depends on the row or on nothing is computed once by LLVM.

    ```mlir
    %r = hopper.map %s rows(%slope, %position : vector<2xf32>, vector<2xi32>) {
    ^bb0(%x: f32, %row_slope: f32, %row_position: i32, %column: i32):
      %distance = arith.subi %column, %row_position : i32
      %d = arith.sitofp %distance : i32 to f32
      %bias = arith.mulf %row_slope, %d : f32
      %y = arith.addf %x, %bias : f32
      hopper.yield %y : f32
    } : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
    * C2: the region takes f32, the elements of `rows`, each a vector of two, and i32.
    * C3: the region yields f32.
    * C4: ops in the region are of `arith` or `math`, or `hopper.load`, over scalars.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Variadic<AnyVectorOfNonZeroRank>:$rows);
  let results = (outs Hopper_FragmentType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $fragment (`rows` `(` $rows^ `:` type($rows) `)`)? $body attr-dict `:` type($fragment)
  }];
  let hasRegionVerifier = 1;
}

def Hopper_YieldOp : Hopper_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "The new element of a map";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Hopper_ScaleRowsOp : Hopper_Op<"scale_rows", [Pure, AllTypesMatch<["fragment", "result"]>]> {
  let summary = "Multiplies each row by its factor";
  let description = [{
    ```mlir
    %r = hopper.scale_rows %o by %alpha : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragment is of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment, Hopper_Rows:$factors);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment `by` $factors attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Hopper_AddFragmentsOp : Hopper_Op<"add_fragments", [Pure, AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "Adds two fragments, element by element";
  let description = [{
    ```mlir
    %r = hopper.add_fragments %a, %b : !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: the fragments are of f32.
  }];
  let arguments = (ins Hopper_FragmentType:$lhs, Hopper_FragmentType:$rhs);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasVerifier = 1;
}

def Hopper_ConvertOp : Hopper_Op<"convert", [Pure]> {
  let summary = "Rounds an accumulator to 16 bits: a left operand";
  let description = [{
    The lanes of both layouts agree, so that no value moves between lanes.

    ```mlir
    %h = hopper.convert %p : !hopper.fragment<64 x 128, f32> -> !hopper.fragment<64 x 128, bf16>
    ```

    Constraints:
    * C1: from f32 to bf16 or f16, with the same columns.
  }];
  let arguments = (ins Hopper_FragmentType:$fragment);
  let results = (outs Hopper_FragmentType:$result);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_RowNumbersOp : Hopper_Op<"row_numbers", [Pure]> {
  let summary = "The numbers, from 0 to 63, of the lane's two rows of a fragment";
  let results = (outs Hopper_RowNumbers:$result);
  let assemblyFormat = "attr-dict";
}

def Hopper_ApproxKind : I32EnumAttr<"ApproxKind", "an approximate function of the special function unit", [
    I32EnumAttrCase<"Exp2", 0, "ex2">, I32EnumAttrCase<"Log2", 1, "lg2">, I32EnumAttrCase<"Reciprocal", 2, "rcp">]> {
  let cppNamespace = "::pagefold::hopper";
}

def Hopper_ApproxOp : Hopper_Op<"approx", [Pure, AllTypesMatch<["rows", "result"]>]> {
  let summary = "2^x, log2 x or 1 / x of the special function unit, denormals to zero";
  let description = [{
    ```mlir
    %y = hopper.approx lg2 %x : vector<2xf32>
    ```
  }];
  let arguments = (ins Hopper_ApproxKind:$kind, AnyTypeOf<[F32, Hopper_Rows]>:$rows);
  let results = (outs AnyTypeOf<[F32, Hopper_Rows]>:$result);
  let assemblyFormat = "$kind $rows attr-dict `:` type($rows)";
}

def Hopper_OpaqueOp : Hopper_Op<"opaque"> {
  let summary = "The same value, of which the optimiser knows nothing";
  let description = [{
    An exact 1.0 that stands for "not grown" must stay one: LLVM would fold the rescale across the loop's back edge, and a
    factor of 1 +- 1e-7 fires the vote in every step.

    ```mlir
    %y = hopper.opaque %alpha
    ```
  }];
  let arguments = (ins Hopper_Rows:$rows);
  let results = (outs Hopper_Rows:$result);
  let assemblyFormat = "$rows attr-dict";
}

def Hopper_AnyOp : Hopper_Op<"any"> {
  let summary = "Whether a condition holds for any row of any lane of the warp";
  let description = [{
    ```mlir
    %b = hopper.any %grew
    ```
  }];
  let arguments = (ins Hopper_RowConditions:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

#endif // PAGEFOLD_DIALECT_HOPPER_IR_FRAGMENTOPS
