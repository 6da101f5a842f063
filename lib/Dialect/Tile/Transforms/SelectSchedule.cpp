//===- SelectSchedule.cpp - a schedule for every space --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"
#include "pagefold/Target/Hopper/PipelinedForm.h"
#include "pagefold/Target/ScheduleTable.h"

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
    attn::BoundsAttr bounds = boundsOf(space);
    if (!bounds)
      return space.emitOpError("expects attn.bounds on its function, to choose a schedule from");
    const ScheduleTable *table = scheduleTableOf(target);
    if (!table)
      return space.emitOpError("expects the option target to be host or cuda, got ") << target;
    KVType kv = space.getKv().getType();
    int64_t group = space.getGroup();
    SpaceShape shape{space,
                     space.mostQueryRows(bounds.getQLen()) * group,
                     kv.getKDim(),
                     kv.getVDim(),
                     bounds.getKvLen(),
                     bounds.maxTokens() * kv.getHeads() * group};
    if (int64_t dim = std::max(shape.kDim, shape.vDim); dim > table->maxHeadDim)
      return space.emitOpError("expects head dimensions up to ")
             << table->maxHeadDim << " on target " << target << ", got " << dim;
    const ScheduleRow *row = choose(space, *table, shape);
    if (!row)
      return failure();
    FailureOr<ScheduleAttr> schedule =
        override(space, makeSchedule(&getContext(), *row, shape, batchInvariant));
    if (failed(schedule))
      return failure();
    space.setScheduleAttr(*schedule);
    explain(space, *table, *row, shape);
    if (packGroups && schedule->getKind() == ScheduleKind::Pipelined)
      packGroup(space, shape, schedule->getQTile());
    return success();
  }

  static void packGroup(SpaceOp space, const SpaceShape &shape, int64_t qTile) {
    int64_t group = space.getGroup();
    if (!hopper::packingPays(group, shape.rows / group, qTile))
      return;
    space->setAttr(hopper::kPackedAttr, UnitAttr::get(space.getContext()));
    remark::passed(space.getLoc(), remarkOf(space, "PackGroups", "tile-select-schedule"))
        << "the heads of a group share query tiles"
        << remark::reason(
               "at most {0} query rows a request, of which each takes {1} rows of a tile "
               "of {2}",
               shape.rows / group, hopper::groupRows(group), qTile);
  }

  /// The row that decides: of all, or of those with the form that the options name.
  const ScheduleRow *choose(SpaceOp space, const ScheduleTable &table, const SpaceShape &shape) {
    if (form.empty())
      return chooseRow(table, shape);
    std::optional<ScheduleKind> named = symbolizeScheduleKind(form);
    auto isNamed = [&](const ScheduleRow &row) { return named && row.kind == *named; };
    const ScheduleRow *first = llvm::find_if(table.rows, isNamed);
    if (first == table.rows.end())
      return space.emitOpError("expects the option form to be ") << table.forms << ", got " << form,
             nullptr;
    const ScheduleRow *row = chooseRow(table, shape, named);
    if (!row) {
      auto rows = llvm::make_filter_range(table.rows, isNamed);
      std::string refusal;
      for (const ScheduleRow &refused : rows)
        if (refused.maxRows || refusal.empty())
          refusal = whyNot(refused, shape); // that of the most general
      space.emitOpError("cannot take the form ") << form << ": " << refusal;
    }
    return row;
  }

  /// Replaces what the options name.
  FailureOr<ScheduleAttr> override(SpaceOp space, ScheduleAttr chosen) {
    auto pick = [](int64_t option, int64_t fromTable) { return option ? option : fromTable; };
    auto error = [&] { return space.emitOpError("cannot take this schedule: "); };
    ScheduleAttr result = ScheduleAttr::getChecked(
        error, &getContext(), chosen.getKind(), pick(qTile, chosen.getQTile()),
        pick(kvTile, chosen.getKvTile()), pick(splits, chosen.getSplits()));
    if (!result)
      return failure();
    return result;
  }

  void explain(SpaceOp space, const ScheduleTable &table, const ScheduleRow &row,
               const SpaceShape &shape) {
    auto options = remarkOf(space, "Schedule", "tile-select-schedule");
    std::string text;
    llvm::raw_string_ostream(text)
        << *space.getSchedule() << " from row " << row.name << ": " << row.reason;
    remark::passed(space.getLoc(), options) << text;
    std::string rejected;
    for (const ScheduleRow &other : table.rows) {
      if (&other == &row)
        break;
      std::string why = whyNot(other, shape);
      why = why.empty() ? "the options say so" : why;
      remark::analysis(space.getLoc(), options)
          << ("row " + other.name + " rejected").str() << remark::reason("{0}", why);
      rejected += (rejected.empty() ? "" : "; ") + other.name.str() + ": " + why;
    }
    // On the host it is never chosen but by its name.
    if (row.kind == ScheduleKind::Simt && form.empty())
      remark::missed(space.getLoc(), remarkOf(space, "OneThreadARow", "tile-select-schedule"))
          << "the space has one thread a row, without rings of tiles and tensor cores"
          << remark::reason("{0}", rejected);
  }
};

} // namespace
