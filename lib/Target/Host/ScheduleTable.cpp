//===- ScheduleTable.cpp - the host's schedules ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/Host/ScheduleTable.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace pagefold;
using namespace pagefold::host;

static constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

static constexpr ScheduleRow kTable[] = {
    {"decode", 8, tile::ScheduleKind::Dot, 0, 256,
     "few query rows: bound by reading K and V, so each is read once, where it lies"},
    {"short", 96, tile::ScheduleKind::Outer, 0, 128,
     "one query tile holds all rows: K and V are copied once"},
    {"prefill", kAnyRows, tile::ScheduleKind::Outer, 96, 128,
     "96 rows keep 24 accumulators of 16 lanes in registers and all tiles in the L2"},
};

llvm::ArrayRef<ScheduleRow> host::scheduleTable() { return kTable; }

const ScheduleRow &host::chooseRow(const SpaceShape &shape) {
  for (const ScheduleRow &row : kTable)
    if (shape.rows <= row.maxRows)
      return row;
  llvm_unreachable("the last row takes everything");
}

tile::ScheduleAttr host::makeSchedule(mlir::MLIRContext *context, const ScheduleRow &row,
                                      const SpaceShape &shape) {
  int64_t qTile = row.qTile ? row.qTile : shape.rows;
  if (row.kind == tile::ScheduleKind::Outer)
    qTile = llvm::alignTo(qTile, 16);
  return tile::ScheduleAttr::get(context, row.kind, qTile, row.kvTile, /*splits=*/1);
}
