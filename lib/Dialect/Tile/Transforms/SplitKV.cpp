//===- SplitKV.cpp - partial states and their merge -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILESPLITKV
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold::tile;

namespace {

/// The buffer of partial states: [splits, tokens, heads, 2 + v_dim].
Value createPartials(OpBuilder &builder, FinishOp finish, int64_t splits, int64_t maxTokens) {
  auto output = cast<MemRefType>(finish.getOutput().getType());
  int64_t heads = output.getDimSize(1), width = 2 + output.getDimSize(2);
  auto type = MemRefType::get({splits, ShapedType::kDynamic, heads, width}, builder.getF32Type());
  Value tokens = memref::DimOp::create(builder, finish.getLoc(), finish.getOutput(), 0);
  int64_t bytes = splits * maxTokens * heads * width * int64_t(sizeof(float));
  return WorkspaceOp::create(builder, finish.getLoc(), type, tokens,
                             builder.getI64IntegerAttr(bytes));
}

void split(SpaceOp space, FinishOp finish, int64_t maxTokens) {
  OpBuilder builder(space);
  Location loc = finish.getLoc();
  Value partials = createPartials(builder, finish, space.getSchedule()->getSplits(), maxTokens);
  builder.setInsertionPointAfter(space);
  auto merge = MergeSplitsOp::create(builder, loc, partials, space.getBatch(), finish.getOutput(),
                                     finish.getLse(), finish.getSinks());
  merge.getBody().takeBody(finish.getBody());
  builder.setInsertionPoint(finish);
  StorePartialOp::create(builder, loc, finish.getState(), finish.getItem(), partials);
  finish.erase();
}

ScheduleAttr withoutSplits(ScheduleAttr schedule) {
  return ScheduleAttr::get(schedule.getContext(), schedule.getKind(), schedule.getQTile(),
                           schedule.getKvTile(),
                           /*splits=*/1);
}

struct TileSplitKV : pagefold::tile::impl::TileSplitKVBase<TileSplitKV> {
  void runOnOperation() override {
    getOperation().walk([&](SpaceOp space) {
      if (!space.getSchedule() || space.getSchedule()->getSplits() <= 1)
        return;
      // Its kernel decides on the device how many parts there are, and merges them itself.
      if (splitsOnDevice(space.getSchedule()->getKind()))
        return;
      auto options = remarkOf(space, "SplitKV", "tile-split-kv");
      auto finishes = space.getBody().getOps<FinishOp>();
      auto folds = space.getBody().getOps<FoldOp>();
      if (finishes.empty() || folds.empty()) {
        remark::missed(space.getLoc(), options) << "the standard form is not split: expects a fold";
        space.setScheduleAttr(withoutSplits(*space.getSchedule())); // the schedule says what is
        return;
      }
      auto bounds =
          space->getParentOfType<FunctionOpInterface>()->getAttrOfType<pagefold::attn::BoundsAttr>(
              pagefold::attn::kBoundsName);
      if (!bounds) {
        space.emitOpError("expects attn.bounds on its function, to size the partial states");
        return signalPassFailure();
      }
      remark::passed(space.getLoc(), options)
          << ("KV split into " + llvm::Twine(space.getSchedule()->getSplits()) + " parts").str();
      split(space, *finishes.begin(), bounds.maxTokens());
    });
  }
};

} // namespace
