//===- SelectSchedule.cpp - a schedule for every space --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Target/Host/ScheduleTable.h"
#include "llvm/Support/MathExtras.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILESELECTSCHEDULE
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold;
using namespace pagefold::tile;

namespace {

struct TileSelectSchedule : pagefold::tile::impl::TileSelectScheduleBase<TileSelectSchedule> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](SpaceOp space) {
      if (space.getSchedule())
        return WalkResult::advance();
      return failed(select(space)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult select(SpaceOp space) {
    auto function = space->getParentOfType<FunctionOpInterface>();
    auto bounds =
        function ? function->getAttrOfType<attn::BoundsAttr>("attn.bounds") : attn::BoundsAttr();
    if (!bounds)
      return space.emitOpError("expects attn.bounds on its function, to choose a schedule from");
    KVType kv = space.getKv().getType();
    host::SpaceShape shape{bounds.getQLen() * int64_t(space.getGroup()), kv.getKDim(), kv.getVDim(),
                           bounds.getKvLen()};
    const host::ScheduleRow &row = host::chooseRow(shape);
    FailureOr<ScheduleAttr> schedule =
        override(space, host::makeSchedule(&getContext(), row, shape), shape);
    if (failed(schedule))
      return failure();
    space.setScheduleAttr(*schedule);
    explain(space, row, shape);
    return success();
  }

  /// Replaces what the options name.
  FailureOr<ScheduleAttr> override(SpaceOp space, ScheduleAttr chosen,
                                   const host::SpaceShape &shape) {
    ScheduleKind kind = chosen.getKind();
    int64_t rows = chosen.getQTile();
    if (!form.empty()) {
      std::optional<ScheduleKind> named = symbolizeScheduleKind(form);
      if (!named)
        return space.emitOpError("expects the option form to be outer or dot, got ") << form,
               failure();
      kind = *named;
      rows = kind == ScheduleKind::Dot ? std::min<int64_t>(shape.rows, 16)
                                       : std::min<int64_t>(llvm::alignTo(shape.rows, 16), 96);
    }
    auto pick = [](int64_t option, int64_t fromTable) { return option ? option : fromTable; };
    auto error = [&] { return space.emitOpError("cannot take this schedule: "); };
    ScheduleAttr result = ScheduleAttr::getChecked(error, &getContext(), kind, pick(qTile, rows),
                                                   pick(kvTile, chosen.getKvTile()),
                                                   pick(splits, chosen.getSplits()));
    if (!result)
      return failure();
    return result;
  }

  void explain(SpaceOp space, const host::ScheduleRow &row, const host::SpaceShape &shape) {
    auto options = remarkOf(space, "Schedule", "tile-select-schedule");
    std::string text;
    llvm::raw_string_ostream(text)
        << *space.getSchedule() << " from row " << row.name << ": " << row.reason;
    remark::passed(space.getLoc(), options) << text;
    for (const host::ScheduleRow &other : host::scheduleTable()) {
      if (&other == &row)
        break;
      remark::analysis(space.getLoc(), options)
          << ("row " + other.name + " rejected: " + llvm::Twine(shape.rows) +
              " rows, it takes at most " + llvm::Twine(other.maxRows))
                 .str();
    }
  }
};

} // namespace
