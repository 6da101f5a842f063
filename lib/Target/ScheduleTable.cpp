//===- ScheduleTable.cpp - choosing from a target's table -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/ScheduleTable.h"
#include "llvm/Support/MathExtras.h"

using namespace pagefold;

const ScheduleTable *pagefold::scheduleTableOf(llvm::StringRef target) {
  for (const ScheduleTable *table : {&host::scheduleTable(), &hopper::scheduleTable()})
    if (target == table->target)
      return table;
  return nullptr;
}

static std::string refusal(const ScheduleRow &row, const SpaceShape &shape) {
  return row.refusal ? row.refusal(shape) : std::string();
}

std::string pagefold::whyNot(const ScheduleRow &row, const SpaceShape &shape) {
  if (row.maxRows && shape.rows > row.maxRows)
    return (llvm::Twine(shape.rows) + " rows, it takes at most " + llvm::Twine(row.maxRows)).str();
  std::string why = refusal(row, shape);
  return why.empty() && !row.maxRows ? "only when asked for" : why;
}

const ScheduleRow *pagefold::chooseRow(const ScheduleTable &table, const SpaceShape &shape,
                                       std::optional<tile::ScheduleKind> form) {
  const ScheduleRow *last = nullptr;
  for (const ScheduleRow &row : table.rows) {
    if (form && row.kind != *form)
      continue;
    if (whyNot(row, shape).empty())
      return &row;
    if (refusal(row, shape).empty())
      last = &row;
  }
  return last;
}

tile::ScheduleAttr pagefold::makeSchedule(mlir::MLIRContext *context, const ScheduleRow &row,
                                          const SpaceShape &shape, bool batchInvariant) {
  constexpr int64_t kLanes = 16, kMaxDotRows = 16;
  int64_t qTile = row.qTile;
  if (row.kind == tile::ScheduleKind::Outer) {
    int64_t rows = llvm::alignTo(shape.rows, kLanes);
    qTile = qTile ? std::min(qTile, rows) : rows;
  } else if (row.kind == tile::ScheduleKind::Dot && !qTile) {
    qTile = std::min(shape.rows, kMaxDotRows);
  }
  auto *splits = batchInvariant && row.invariantSplits ? row.invariantSplits : row.splits;
  return tile::ScheduleAttr::get(context, row.kind, qTile, row.kvTile, splits ? splits(shape) : 1);
}
