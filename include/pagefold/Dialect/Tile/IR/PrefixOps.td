//===- PrefixOps.td - shared prefixes in the tile dialect ---*- tablegen -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its C++ stands in PrefixOps.h, beside Tile.h: few files know of prefixes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS
#define PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS

include "pagefold/Dialect/Tile/IR/TileOps.td"

def Tile_CutPrefixOp : Tile_Op<"cut_prefix"> {
  let summary = "Writes the page tables and lengths of a shared prefix and of the rest (attn.cut_prefix)";
  let description = [{
    Finds the cut from the batch's extents, from its page table and from `prefix`, the length that was promised.
    `shared(table, len, rows)` receive one request: its pages, its length, and the two row offsets of all rows.
    `rest(table, lens)` receive what every request of the batch has behind the cut. A promise that does not hold is
    recorded in the error word.

    One worker does it on the host, the threads of one CTA on the GPU.

    ```mlir
    tile.cut_prefix %n of %batch shared(%t1, %l1, %r1) rest(%t2, %l2)
      : memref<1xi32>, memref<1x512xi32>, memref<1xi32>, memref<2xi32>, memref<32x512xi32>, memref<32xi32>
    ```

    Constraints:
    * C1: the batch is one of a paged KV.
    * C2: `prefix` and the length have one i32, the rows two.
    * C3: the tables are of i32 and have static extents, the first one row, the second as many as there are `lens`, and
      both as many columns.
  }];
  let arguments = (ins Tile_Buffer:$prefix, Tile_BatchType:$batch, Tile_Buffer:$table, Tile_Buffer:$len,
                       Tile_Buffer:$rows, Tile_Buffer:$restTable, Tile_Buffer:$restLens);
  let assemblyFormat = [{
    $prefix `of` $batch `shared` `(` $table `,` $len `,` $rows `)` `rest` `(` $restTable `,` $restLens `)` attr-dict
    `:` type($prefix) `,` type($table) `,` type($len) `,` type($rows) `,` type($restTable) `,` type($restLens)
  }];
  let hasVerifier = 1;
}

#endif // PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS
