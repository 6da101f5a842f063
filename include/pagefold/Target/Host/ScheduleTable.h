//===- ScheduleTable.h - the host's schedules -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number about the host's schedules stands in one table. A row has a condition on the space,
// a schedule, and the reason why it is there; the first row whose condition holds decides.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOST_SCHEDULETABLE_H
#define PAGEFOLD_TARGET_HOST_SCHEDULETABLE_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::host {

/// What a schedule is chosen from.
struct SpaceShape {
  int64_t rows; ///< the most rows of one (request, KV head): max q_len x group
  int64_t kDim, vDim;
  int64_t kvLen; ///< the most keys of a request
};

struct ScheduleRow {
  llvm::StringLiteral name;
  int64_t maxRows; ///< the row is for spaces of at most so many rows
  tile::ScheduleKind kind;
  int64_t qTile;  ///< rows of a query tile; 0: as many as the space has
  int64_t kvTile; ///< keys of a KV tile
  llvm::StringLiteral reason;
};

/// The table, most special row first; the last row takes everything.
llvm::ArrayRef<ScheduleRow> scheduleTable();

/// The first row that fits.
const ScheduleRow &chooseRow(const SpaceShape &shape);

/// The row's schedule for this space.
tile::ScheduleAttr makeSchedule(mlir::MLIRContext *context, const ScheduleRow &row,
                                const SpaceShape &shape);

} // namespace pagefold::host

#endif // PAGEFOLD_TARGET_HOST_SCHEDULETABLE_H
