//===- VisitLists.cpp - folds over the tiles that the mask shows ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "pagefold/Analysis/TileBounds.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILEVISITLISTS
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold::tile;

namespace {

/// Says what was derived from the mask, and how well.
void explain(FoldOp fold, MaskOp mask) {
  auto options = remarkOf(fold, "VisitList", "tile-visit-lists");
  pagefold::TileBounds bounds = pagefold::deriveTileBounds(mask.getSets().getMaskSets());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "visits derived (" << pagefold::stringify(bounds.worstMethod()) << "): ";
  bounds.print(os);
  for (char &c : text)
    c = c == '\n' ? ';' : c;
  remark::passed(fold.getLoc(), options) << StringRef(text).rtrim(';').str();
  if (mask.getBitmap())
    remark::missed(fold.getLoc(), options)
        << "a bitmap mask is not affine: it skips no tile, and every tile is tested by bits";
}

void addVisits(FoldOp fold) {
  MapOp map;
  fold.getBody().walk([&](MapOp op) { map = op; });
  auto mask = map ? map.getMask().getDefiningOp<MaskOp>() : MaskOp();
  if (!mask)
    return;
  explain(fold, mask);
  OpBuilder builder(fold);
  Value visits = VisitsOp::create(builder, fold.getLoc(), VisitsType::get(builder.getContext()),
                                  fold.getItem(), map.getMask());
  fold.getVisitsMutable().assign(visits);
}

struct TileVisitLists : pagefold::tile::impl::TileVisitListsBase<TileVisitLists> {
  void runOnOperation() override {
    getOperation()->walk([](FoldOp fold) {
      if (!fold.getVisits())
        addVisits(fold);
    });
  }
};

} // namespace
