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

    **Does not** decide which tiles are visited (`tile-visit-lists`), nor their size (`tile-select-schedule`).
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileSelectSchedule : Pass<"tile-select-schedule", "::mlir::ModuleOp"> {
  let summary = "Chooses a schedule for every space from the target's table";
  let description = [{
    **Requires** spaces; functions with `attn.bounds`.

    **Ensures** that every space has a `#tile.schedule`, printed as a remark with the table's reason and the rows that were
    rejected. A schedule that is there already is kept.

    **Idea.** One table per target (`lib/Target/Host/ScheduleTable.cpp`); the first row whose condition on (rows of a
    request, head dims, KV length) holds decides.
    Overrides replace single fields.

    **Does not** touch the space's body: a schedule never edits the fold.
  }];
  let options = [
    Option<"qTile", "q-tile", "int64_t", "0", "Rows of a query tile (default: 0, from the table)">,
    Option<"kvTile", "kv-tile", "int64_t", "0", "Keys of a KV tile (default: 0, from the table)">,
    Option<"splits", "splits", "int64_t", "0", "Parts of the KV dimension (default: 0, from the table)">,
    Option<"form", "form", "std::string", "", "outer or dot (default: empty, from the table)">];
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

    **Does not** need run-time values: lengths and windows stay symbols.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect"];
}

def TileSplitKV : Pass<"tile-split-kv", "::mlir::ModuleOp"> {
  let summary = "Splits the KV dimension over items and merges their states";
  let description = [{
    **Requires** spaces in fold form with a schedule whose `splits` is above 1.

    **Ensures** that the space stores partial states and a `tile.merge_splits` after it finishes them.

    **Idea.** The fold is associative: item `(…, s)` takes the share `[n s / S, n (s+1) / S)` of its visit
    list, and the merge is the same rule that combines two steps.

    **Does not** split the standard form.
  }];
  let dependentDialects = ["::pagefold::tile::TileDialect", "::mlir::memref::MemRefDialect"];
}

#endif // PAGEFOLD_DIALECT_TILE_TRANSFORMS_PASSES
