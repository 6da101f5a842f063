//===- SplitRows.cpp - a space for requests of few query rows --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILESPLITROWS
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold::tile;

namespace {

struct TileSplitRows : pagefold::tile::impl::TileSplitRowsBase<TileSplitRows> {
  void runOnOperation() override {
    SmallVector<SpaceOp> spaces;
    getOperation()->walk([&](SpaceOp space) { spaces.push_back(space); });
    for (SpaceOp space : spaces)
      split(space);
  }

  static void split(SpaceOp space) {
    pagefold::attn::BoundsAttr bounds = boundsOf(space);
    int64_t few = pagefold::hopper::kMaxStreamedRows / static_cast<int64_t>(space.getGroup());
    // Nothing to tell apart: all requests are of few rows, or one request is what it is.
    if (!bounds || space.getSchedule() || space.getMaxQLen() || bounds.getQLen() <= few ||
        bounds.getBatch() == 1)
      return;
    auto options = remarkOf(space, "SplitRows", "tile-split-rows");
    auto missed = [&](const std::string &why) {
      remark::missed(space.getLoc(), options)
          << "the space stays whole" << remark::reason("{0}", why);
    };
    if (few < 1)
      return missed("a group has more rows than the streaming schedule takes");
    // What merges parts of keys on level 2 would merge those of the other space's requests too.
    if (std::string why = pagefold::hopper::pipelinedRefusal(space); !why.empty())
      return missed("chunks cannot be pipelined: " + why);
    OpBuilder builder(space);
    auto ofFew = cast<SpaceOp>(builder.clone(*space));
    ofFew.setMaxQLen(few);
    if (std::string why = pagefold::hopper::streamingRefusal(ofFew, bounds); !why.empty()) {
      ofFew.erase();
      return missed(why);
    }
    space.setMinQLen(few + 1);
    remark::passed(space.getLoc(), options)
        << ("requests of up to " + Twine(few) + " query rows have a space of their own").str();
  }
};

} // namespace
