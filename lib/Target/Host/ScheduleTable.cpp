//===- ScheduleTable.cpp - the host's schedules ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Target/ScheduleTable.h"

using namespace pagefold;

static constexpr ScheduleRow kTable[] = {
    {"decode", 8, nullptr, tile::ScheduleKind::Dot, 0, 256, nullptr, nullptr,
     "few query rows: bound by reading K and V, so each is read once, where it lies"},
    {"short", 96, nullptr, tile::ScheduleKind::Outer, 0, 128, nullptr, nullptr,
     "one query tile holds all rows: K and V are copied once"},
    {"prefill", kAnyRows, nullptr, tile::ScheduleKind::Outer, 96, 128, nullptr, nullptr,
     "96 rows keep 24 accumulators of 16 lanes in registers and all tiles in the L2"},
    {"simt", 0, nullptr, tile::ScheduleKind::Simt, 1, 16, nullptr, nullptr,
     "only when asked for: the GPU's kernels of one thread a row, played by the host"},
};

const ScheduleTable &host::scheduleTable() {
  static const ScheduleTable table = {"host", "outer, dot or simt", kTable, /*maxHeadDim=*/512,
                                      /*launchBytes=*/0}; // workers go on to the next kernel
  return table;
}
