//===- AdvisePageSize.h - what each page size costs, and which to take -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small pages waste little and find more of a shared prefix; large pages keep the table short and
// let one TMA box take a whole tile. Waste and lost reuse follow from the trace; what they do to
// queues and evictions needs a replay at each size, over the same bytes of memory.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_ADVISEPAGESIZE_H
#define PAGEFOLD_REPORT_ADVISEPAGESIZE_H

#include "Metrics.h"

#include <string>
#include <vector>

namespace pagefold::report {

struct PageSizeRow {
  uint32_t pageSize = 0;
  double tailWaste = 0;      ///< finalTailWaste
  double fragmentation = 0;  ///< of live pages, over the replay
  uint64_t tableEntries = 0; ///< most in use at once
  double lostReuse = 0;      ///< of prompt tokens: reusable, but not in whole pages
  double oneBoxShare = 0;
  double boxesPerTile = 0;
  double meanStep = 0, endToEnd = 0; ///< s
  double outputThroughput = 0;
  size_t rejected = 0;   ///< requests that the pool could never hold
  bool measured = false; ///< attention times are from a table for this page size

  /// What the size loses: memory in tails, and reuse.
  double loss() const { return fragmentation + lostReuse; }
};

struct PageSizeAdvice {
  std::vector<PageSizeRow> rows; ///< 1, 2, 4 .. 512, as far as the pool holds one page
  uint32_t recommended = 0;
  std::string reason;
};

/// The largest page size, up to a kernel's tile, that loses at most 1 % more than the least and
/// whose mean end-to-end time is within 1 % of the best. Beyond a tile nothing is gained but a
/// shorter table. `costs` are models with the tables at hand: the one for a page size is taken
/// where there is one, and the first one otherwise.
Result<PageSizeAdvice> advisePageSize(const Trace &trace, const std::vector<CostModel> &costs,
                                      const ReplayOptions &options);

std::string toText(const PageSizeAdvice &advice, const Trace &trace);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_ADVISEPAGESIZE_H
