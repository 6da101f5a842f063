//===- HopperBase.td - the hopper dialect and its types ----*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_HOPPERBASE
#define PAGEFOLD_DIALECT_HOPPER_IR_HOPPERBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Hopper_Dialect : Dialect {
  let name = "hopper";
  let cppNamespace = "::pagefold::hopper";
  let summary = "What a Hopper multiprocessor does: shared tiles, rings, roles, fragments";
  let description = [{
    Level 3 on the GPU. One kernel is one CTA: it has tiles in shared memory, *rings* of tiles that TMA fills
    and mbarriers guard, and *roles*: groups of warps that run different programs with different
    numbers of registers. A warpgroup multiplies *fragments* in its registers with tiles in shared memory.

    The dialect knows nothing of attention, and decides nothing: every op is a fixed short sequence of
    instructions (`hopper-to-nvvm`), and a schedule is a program made of them. Scalars, and the values that a
    lane holds for its two rows of a fragment (`vector<2xf32>`), are computed by `arith`; control flow is `scf`.

    **A fragment and its lanes.** A fragment has the 64 rows of a warpgroup: warp w holds rows 16 w to 16 w + 15,
    and lane l of it holds rows l floordiv 4 and l floordiv 4 + 8 of those, in columns 8 j + 2 (l mod 4) and the next one.

    **A shared tile.** Its columns are cut into *panels* of 128 bytes, and the 16-byte units of a panel's row are
    permuted by the row's number modulo 8 (the 128-byte swizzle). The last panel is whole too: TMA fills its columns
    beyond the tensor with zeros, which products read up to the next multiple of 16. Two orders: `panels` is [panel][row][64], which one
    TMA box of (64, rows, panels) fills; `octets` is [row / 8][panel][row mod 8][64], in which any 8 rows lie together,
    so that boxes of short pages fill it. wgmma reads both at the same speed.

    **A ring** of n stages is used by turns: turn t is stage t mod n, and the parity of t floordiv n is the phase of its
    two mbarriers, *full* and *empty*. The producer acquires, expects and fills; consumers wait, read and release.
    A ring may exist once for each *warp* of the CTA: the warp fills it and reads it, and needs no `empty`.

    **A block** is what one warp's product (mma.sync m16n8k16) takes: 16 x 16 elements of 16 bits on the left (`vector<4xi32>` a lane), 16 x 8
    on the right (`vector<2xi32>`), and 16 x 8 of f32 as the result (`vector<4xf32>`: elements 0 and 1 in row l floordiv 4 of lane l, 2
    and 3 eight rows below, in columns 2 (l mod 4) and the next one). A *pair* is two neighbouring elements of 16 bits in one i32.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Hopper_Type<string name, string typeMnemonic> : TypeDef<Hopper_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Hopper_Order : I32EnumAttr<"Order", "how a tile lies in shared memory", [
    I32EnumAttrCase<"Panels", 0, "panels">, I32EnumAttrCase<"Octets", 1, "octets">]> {
  let cppNamespace = "::pagefold::hopper";
  let genSpecializedAttr = 0;
}

def Hopper_OrderParameter : EnumParameter<Hopper_Order> {
  let defaultValue = "::pagefold::hopper::Order::Panels";
}

/// What shared tiles and rings have in common.
defvar tileDeclarations = [{
  /// Where wgmma and TMA find things in one tile, in bytes.
  int64_t tileBytes() const { return panels() * panelBytes(); }
  int64_t panels() const;
  /// Bytes of one panel's rows.
  int64_t panelBytes() const;
  /// Columns as the depth of a product: up to the next multiple of 16.
  int64_t depth() const;
  /// From a panel to the next, at the same row.
  int64_t panelStride() const;
  /// From eight rows to the next eight, in the same panel.
  int64_t octetStride() const;
}];

def Hopper_SharedType : Hopper_Type<"Shared", "shared"> {
  let summary = "Tiles in shared memory";
  let description = [{
    `count` tiles of `rows` x `columns`.

    ```mlir
    !hopper.shared<2 x 64 x 128, bf16>
    ```

    Constraints:
    * C1: count is from 1 to 16.
    * C2: rows is a multiple of 8 from 8 to 256.
    * C3: columns is a multiple of 8 from 8 to 256.
    * C4: elements are bf16 or f16.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
                        Hopper_OrderParameter:$order);
  let assemblyFormat = "`<` $count `x` $rows `x` $columns `,` $elementType (`order` $order^)? `>`";
  let extraClassDeclaration = tileDeclarations;
  let genVerifyDecl = 1;
}

def Hopper_RingType : Hopper_Type<"Ring", "ring"> {
  let summary = "A ring of tiles in shared memory, guarded by mbarriers";
  let description = [{
    Each stage is a tile, its two mbarriers (one, `full`, in a ring of warps), and, when asked for, a *note*: 32-bit words that travel with the tile.

    ```mlir
    !hopper.ring<2 x 128 x 128, bf16>
    !hopper.ring<1 x 128 x 128, bf16 order octets note 4>
    !hopper.ring<3 x 16 x 128, bf16 warps 8>
    ```

    Constraints:
    * C1: the number of stages is from 1 to 16.
    * C2, C3, C4: as for `!hopper.shared`.
    * C5: a note has a multiple of 4 words up to 32.
    * C6: warps is from 1 to 32, where it is given, and there is no note.
    * C7: elements are f8E4M3FN in rings of warps only.
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
                        Hopper_OrderParameter:$order,
                        OptionalParameter<"int64_t">:$note, OptionalParameter<"int64_t">:$warps);
  let assemblyFormat = [{
    `<` $stages `x` $rows `x` $columns `,` $elementType (`order` $order^)? (`note` $note^)? (`warps` $warps^)? `>`
  }];
  let extraClassDeclaration = tileDeclarations # [{
    /// Whether each warp has one of its own.
    bool isOfWarps() const { return getWarps() != 0; }
    /// Stages of all warps together.
    int64_t allStages() const { return getStages() * (isOfWarps() ? getWarps() : 1); }
  }];
  let genVerifyDecl = 1;
}

def Hopper_FragmentType : Hopper_Type<"Fragment", "fragment"> {
  let summary = "A matrix in the registers of a warpgroup";
  let description = [{
    f32: an accumulator of wgmma, columns / 2 registers a lane. bf16, f16: its rounding, and a left operand where
    columns is a multiple of 16; columns / 4 registers.

    ```mlir
    !hopper.fragment<64 x 128, f32>
    ```

    Constraints:
    * C1: rows is 64.
    * C2: columns is a multiple of 8 from 8 to 256.
    * C3: elements are f32, bf16 or f16.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $rows `x` $columns `,` $elementType `>`";
  let extraClassDeclaration = [{
    /// 32-bit registers that each lane holds.
    int64_t registers() const { return getColumns() / (getElementType().isF32() ? 2 : 4); }
  }];
  let genVerifyDecl = 1;
}

def Hopper_TensorMapType : Hopper_Type<"TensorMap", "tensor_map"> {
  let summary = "A tensor map: what one TMA instruction copies";
  let description = [{
    A kernel parameter, passed by value, that the runtime encodes: 128-byte swizzle, zeros outside the tensor.
    The type has what the compiler decides; extents and strides come with the call.

    ```mlir
    !hopper.tensor_map<box[64, 128, 2, 1, 1], bf16>
    ```

    Constraints:
    * C1: the box has 1 to 5 extents.
    * C2: each extent is from 1 to 256.
    * C3: the innermost extent is one panel: 128 bytes.
    * C4: elements are bf16, f16 or f8E4M3FN.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` `box` `[` $box `]` `,` $elementType `>`";
  let extraClassDeclaration = "int64_t boxBytes() const;";
  let genVerifyDecl = 1;
}

def Hopper_PointerType : Hopper_Type<"Pointer", "pointer"> {
  let summary = "A pointer to global memory";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def Hopper_WordsType : Hopper_Type<"Words", "words"> {
  let summary = "32-bit words in shared memory";
  let description = [{
    For what warps tell each other: plain loads and stores, ordered by barriers.

    ```mlir
    !hopper.words<1024>
    ```

    Constraints:
    * C1: count is a multiple of 4, at least 4.
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// What the ops share
//===----------------------------------------------------------------------===//

class Hopper_Op<string mnemonic, list<Trait> traits = []> : Op<Hopper_Dialect, mnemonic, traits>;

/// An index of elements. Printed behind the other types where it is an i64.
def Hopper_Index : AnyTypeOf<[I32, I64]>;

def Hopper_ReduceKind : I32EnumAttr<"ReduceKind", "how values are combined", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::pagefold::hopper";
}

/// What a lane holds for its two rows of a fragment.
class Hopper_RowsOf<Type element, string name, string builder>
    : Type<VectorOfLengthAndType<[2], [element]>.predicate, name, "::mlir::VectorType">,
      BuildableType<"::mlir::VectorType::get({2}, $_builder." # builder # ")">;
def Hopper_Rows : Hopper_RowsOf<F32, "vector<2xf32>", "getF32Type()">;
def Hopper_RowNumbers : Hopper_RowsOf<I32, "vector<2xi32>", "getI32Type()">;
def Hopper_RowConditions : Hopper_RowsOf<I1, "vector<2xi1>", "getI1Type()">;

#endif // PAGEFOLD_DIALECT_HOPPER_IR_HOPPERBASE
