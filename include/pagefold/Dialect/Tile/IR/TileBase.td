//===- TileBase.td - the tile dialect, its types and attributes -*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_TILEBASE
#define PAGEFOLD_DIALECT_TILE_IR_TILEBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::pagefold::tile";
  let summary = "How attention is computed: buffers, items of work, visit lists, the fold";
  let description = [{
    Level 2. Tensors have become buffers that the caller owns. The work is a *space* of independent
    *items*, each one query tile of one KV head of one request. An item folds over the KV tiles on its
    *visit list*, which comes from the mask by integer-set arithmetic: a tile outside is never visited,
    and no mask code runs in a tile that is wholly visible.

    The state of the fold is (row max m, row sum l, accumulator acc), and folding is associative, so
    that the KV dimension may be split and merged (`docs/levels/tile.md` has the algebra). This level
    knows nothing of registers, threads or instructions, and the host and the GPU share it.

    **Rows of a tile.** The G query heads of a KV head are packed into the rows of a query tile: row `m` is
    query row `m floordiv G`, head `g * G + m mod G`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Tile_BatchType : Tile_Type<"Batch", "batch"> {
  let summary = "The checked extents of a batch's requests";
  let description = "For every request: its first row, query rows and KV length; zero for a request whose data break the contract.";
}

def Tile_KVType : Tile_Type<"KV", "kv"> {
  let summary = "Keys and values of a batch in memory";
  let description = [{
    Base, strides, page table and lengths; `page 16`, or dense rows where no page size is given.

    ```mlir
    !tile.kv<8 heads, 128 x 128, bf16, page 16>
    !tile.kv<8 heads, 128 x 128, f8E4M3FN, page 16>
    !tile.kv<8 heads, 128 x 128, f32>
    ```

    Constraints:
    * C1: 1 <= heads.
    * C2: k_dim and v_dim are multiples of 8 from 8 to 512.
    * C3: the element type is f32, f16 or bf16, or f8E4M3FN, with scales, where there are pages.
    * C4: 1 <= page <= 1024, where there is one.
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$kDim, "int64_t":$vDim, "::mlir::Type":$elementType,
                        OptionalParameter<"int64_t">:$pageSize);
  let assemblyFormat = "`<` $heads `heads` `,` $kDim `x` $vDim `,` $elementType (`,` `page` $pageSize^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isPaged() const { return getPageSize() != 0; }
    /// Whether its elements come with scales, as `!attn.paged_kv` says.
    bool isScaled() const;
  }];
}

def Tile_MaskType : Tile_Type<"Mask", "mask"> {
  let summary = "A mask with its symbols bound";
}

def Tile_ItemType : Tile_Type<"Item", "item"> {
  let summary = "One item of a space: a request, a KV head, a query tile, a split";
}

def Tile_VisitsType : Tile_Type<"Visits", "visits"> {
  let summary = "The visit list of an item: ordered disjoint ranges of KV tiles";
}

def Tile_TileType : Tile_Type<"Tile", "tile"> {
  let summary = "A tile of values";
  let description = [{
    Extents are numbers or one of the words `q` (rows of the query tile), `kv` (keys of a KV tile), `all`
    (all keys of the request). The schedule gives the words their sizes, so a schedule never edits types.

    ```mlir
    !tile.tile<q x 128, f32>
    !tile.tile<q x kv, f32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Extents that the schedule decides.
    enum Word : int64_t { Q = -1, KV = -2, All = -3 };
  }];
}

def Tile_StateType : Tile_Type<"State", "state"> {
  let summary = "The state of the fold: row max, row sum, accumulator [q, v_dim], in f32";
  let parameters = (ins "int64_t":$vDim);
  let assemblyFormat = "`<` $vDim `>`";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Tile_ScheduleKind : I32EnumAttr<"ScheduleKind", "how an item's products are formed", [
    I32EnumAttrCase<"Outer", 0, "outer">, I32EnumAttrCase<"Dot", 1, "dot">,
    I32EnumAttrCase<"Pipelined", 2, "pipelined">, I32EnumAttrCase<"Simt", 3, "simt">,
    I32EnumAttrCase<"Streaming", 4, "streaming">]> {
  let cppNamespace = "::pagefold::tile";
  let genSpecializedAttr = 0;
}

def Tile_ScheduleAttr : AttrDef<Tile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a space is partitioned and its products formed";
  let description = [{
    On the host, `outer`: KV tiles are copied to a local buffer and the products are outer products over many query
    rows (prefill). `dot`: K and V are read where they lie, one pass, few query rows (decode). On the GPU, `pipelined`: KV tiles
    come by TMA into rings of shared memory, and warpgroups multiply them. `streaming`: every warp has a ring of its own, and
    the warps of all multiprocessors share out the keys of the batch; the group's heads are packed into rows (decode). `simt`: as
    `dot`, an item a thread.
    `q_tile` rows of a query tile, `kv_tile` keys of a KV tile, `splits` parts of the KV dimension (`pipelined`: at most so many;
    `streaming`: as many as there are warps to read them, whatever it says).

    ```mlir
    #tile.schedule<outer, q_tile 96, kv_tile 128, splits 1>
    ```

    Constraints:
    * C1: q_tile is a multiple of 16 from 16 to 512 (`outer`), from 1 to 16 (`dot`), a multiple of 64 from 64 to 256
      (`pipelined`), 8 or 16 (`streaming`, which needs one tile for all packed rows), or from 1 to 4 (`simt`).
    * C2: kv_tile is a multiple of 16 from 16 to 1024 (at most 256 for `pipelined`, 64 for `simt`; 32 for `streaming`).
    * C3: 1 <= splits <= 128.
  }];
  let parameters = (ins EnumParameter<Tile_ScheduleKind>:$kind, "int64_t":$qTile, "int64_t":$kvTile,
                        "int64_t":$splits);
  let assemblyFormat = "`<` $kind `,` `q_tile` $qTile `,` `kv_tile` $kvTile `,` `splits` $splits `>`";
  let genVerifyDecl = 1;
}

#endif // PAGEFOLD_DIALECT_TILE_IR_TILEBASE
