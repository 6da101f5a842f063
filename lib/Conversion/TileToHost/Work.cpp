//===- Work.cpp - from an op with work to its emitter ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

bool host::isWork(Operation *op) {
  return isa<tile::AppendOp, tile::RowsOp, tile::MergeOp, tile::MergeSplitsOp, tile::SpaceOp,
             tile::CutPrefixOp, linalg::GenericOp>(op);
}

static LogicalResult checkSchedule(Kernel &kernel, tile::SpaceOp space) {
  std::optional<tile::ScheduleAttr> schedule = space.getSchedule();
  if (!schedule)
    return space.emitOpError("expects a schedule: tile-select-schedule should have set it");
  if (llvm::is_contained(kernel.forms(), schedule->getKind()))
    return success();
  InFlightDiagnostic error = space.emitOpError("expects a schedule of the form ");
  llvm::interleave(
      kernel.forms(), [&](tile::ScheduleKind form) { error << stringifyScheduleKind(form); },
      [&] { error << " or "; });
  return error << " on this target, got " << stringifyScheduleKind(schedule->getKind())
               << ": tile-select-schedule chooses one by its option target";
}

LogicalResult host::emitWork(Kernel &kernel, Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::AppendOp append) { return emitAppend(kernel, append), success(); })
      .Case([&](tile::RowsOp rows) { return emitRows(kernel, rows), success(); })
      .Case([&](tile::MergeOp merge) { return emitMerge(kernel, merge), success(); })
      .Case([&](tile::MergeSplitsOp merge) { return emitMergeSplits(kernel, merge), success(); })
      .Case([&](tile::CutPrefixOp cut) { return emitCutPrefix(kernel, cut), success(); })
      .Case([&](linalg::GenericOp op) { return emitElementwise(kernel, op), success(); })
      .Case([&](tile::SpaceOp space) -> LogicalResult {
        if (failed(checkSchedule(kernel, space)))
          return failure();
        return emitSpace(kernel, space);
      });
}
