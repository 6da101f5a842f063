//===- StageQueries.cpp - a kernel of their own for changed queries -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILESTAGEQUERIES
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold;
using namespace pagefold::tile;

namespace {

/// Why a space keeps its query region, as the end of a sentence; empty if it can do without.
std::string refusal(SpaceOp space, LoadQOp load, bool streams) {
  std::string why = hopper::pipelinedRefusal(space, hopper::QueryRegion::Staged);
  if (!why.empty() && !streams)
    return why;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(load.getBody(), captured);
  for (Value value : captured)
    if (space.getBody().isAncestor(value.getParentRegion()))
      return "their region uses a value of the space";
  return {};
}

/// A buffer for the changed queries: [tokens, heads, k_dim] of the query's element type.
Value createStaged(OpBuilder &builder, Location loc, Value query, int64_t maxTokens) {
  auto type = cast<MemRefType>(query.getType());
  // The extent of a buffer in the workspace is that of the argument which sized it: a launch knows
  // no other.
  auto place = query.getDefiningOp<WorkspaceOp>();
  Value tokens =
      place ? place.getDims().front() : memref::DimOp::create(builder, loc, query, 0).getResult();
  int64_t bytes =
      maxTokens * type.getDimSize(1) * type.getDimSize(2) * (type.getElementTypeBitWidth() / 8);
  return WorkspaceOp::create(builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
                             tokens, builder.getI64IntegerAttr(bytes));
}

void stage(SpaceOp space, LoadQOp load, int64_t maxTokens) {
  OpBuilder builder(space);
  Location loc = load.getLoc();
  Value staged = createStaged(builder, loc, load.getQuery(), maxTokens);
  auto rows = RowsOp::create(builder, loc, load.getQuery(), staged, space.getBatch());
  rows.getBody().takeBody(load.getBody());
  load.getQueryMutable().assign(staged);
  Type tile = rows.getBody().getArgument(0).getType();
  Block &identity = load.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&identity);
  YieldOp::create(builder, loc, TypeRange(), identity.addArgument(tile, loc));
}

struct TileStageQueries : pagefold::tile::impl::TileStageQueriesBase<TileStageQueries> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](SpaceOp space) {
      auto loads = space.getBody().getOps<LoadQOp>();
      if (loads.empty() || isIdentity((*loads.begin()).getBody()))
        return WalkResult::advance();
      return failed(run(space, *loads.begin())) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult run(SpaceOp space, LoadQOp load) {
    auto options = remarkOf(space, "StageQueries", "tile-stage-queries");
    attn::BoundsAttr bounds = boundsOf(space);
    auto streams = [&](hopper::QueryRegion region) {
      return bounds && hopper::streamingRefusal(space, bounds, region).empty();
    };
    bool mayStream = form.empty() || form == stringifyScheduleKind(ScheduleKind::Streaming);
    if (mayStream && streams(hopper::QueryRegion::InSpace)) {
      remark::passed(space.getLoc(), options)
          << "queries need no staging: warps that stream keys change them as they load them";
      return success();
    }
    if (std::string why = refusal(space, load, streams(hopper::QueryRegion::Staged));
        !why.empty()) {
      remark::missed(space.getLoc(), options)
          << "queries are not staged" << remark::reason("{0}", why);
      return success();
    }
    if (!bounds)
      return space.emitOpError("expects attn.bounds on its function, to size the staged queries");
    remark::passed(space.getLoc(), options)
        << "queries are staged: what changes them is a kernel of rows, so that the space can be "
           "pipelined";
    stage(space, load, bounds.maxTokens());
    return success();
  }
};

} // namespace
