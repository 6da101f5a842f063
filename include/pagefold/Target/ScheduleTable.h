//===- ScheduleTable.h - the schedules of a target --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number about a target's schedules stands in its one table. A row has a condition on the
// space, a schedule, and the reason why it is there; the first row whose condition holds decides.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_SCHEDULETABLE_H
#define PAGEFOLD_TARGET_SCHEDULETABLE_H

#include "pagefold/Dialect/Tile/IR/Tile.h"
#include <limits>

namespace pagefold {

/// What a schedule is chosen from.
struct SpaceShape {
  tile::SpaceOp space;
  int64_t rows; ///< the most rows of one (request, KV head): max q_len x group
  int64_t kDim, vDim;
  int64_t kvLen;   ///< the most keys of a request
  int64_t allRows; ///< the most rows of the space: max tokens x query heads
};

inline constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

struct ScheduleRow {
  llvm::StringLiteral name;
  int64_t maxRows; ///< the row is for spaces of at most so many rows; 0: only when asked for
  /// Why the form does not take a space at all; empty if it does. Null: it takes every space.
  std::string (*refusal)(const SpaceShape &);
  tile::ScheduleKind kind;
  int64_t qTile;  ///< rows of a query tile; 0: as many as the space has
  int64_t kvTile; ///< keys of a KV tile
  /// Parts of the KV dimension; null: one.
  int64_t (*splits)(const SpaceShape &);
  /// The same where a request's bits must not depend on its neighbours; null: as `splits`.
  int64_t (*invariantSplits)(const SpaceShape &);
  llvm::StringLiteral reason;
};

struct ScheduleTable {
  llvm::StringLiteral target;
  llvm::StringLiteral forms;        ///< in words, for errors
  llvm::ArrayRef<ScheduleRow> rows; ///< most special first; one takes everything
  int64_t maxHeadDim;
  int64_t launchBytes; ///< that memory brings in the time that one kernel more takes
};

/// The table of a target: host or cuda. Null for any other.
const ScheduleTable *scheduleTableOf(llvm::StringRef target);

/// Why a row is not for a space; empty if it is.
std::string whyNot(const ScheduleRow &row, const SpaceShape &shape);

/// The first row that fits; with `form`, the first of that form, or its last one when the space has
/// too many rows for all. Null: `form` refuses the space, or the target does not have it.
const ScheduleRow *chooseRow(const ScheduleTable &table, const SpaceShape &shape,
                             std::optional<tile::ScheduleKind> form = std::nullopt);

/// The row's schedule for this space.
tile::ScheduleAttr makeSchedule(mlir::MLIRContext *context, const ScheduleRow &row,
                                const SpaceShape &shape, bool batchInvariant);

namespace host {
const ScheduleTable &scheduleTable();
} // namespace host
namespace hopper {
const ScheduleTable &scheduleTable();
} // namespace hopper

} // namespace pagefold

#endif // PAGEFOLD_TARGET_SCHEDULETABLE_H
