//===- WhatIf.h - the same trace, with one thing changed --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kinds of answers. A *lever* is a replay of the whole trace with one option changed, so that
// queues, evictions and preemptions change with it. The tables for GQA and for layouts are only
// arithmetic on the replay that was made: they say so.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_WHATIF_H
#define PAGEFOLD_REPORT_WHATIF_H

#include "Metrics.h"

#include <string>
#include <vector>

namespace pagefold::report {

/// One replay with one change.
struct Lever {
  std::string kind; ///< "kernel", "page size", "cache", "scheduling", "capacity", "overhead"
  std::string what; ///< "attention at the device's peak"
  double endToEnd = 0, ttft = 0, tpot = 0; ///< s, means
  double outputThroughput = 0, goodput = 0;
  double endToEndChange = 0; ///< relative to no change: -0.1 is 10 % less
};

struct Levers {
  size_t requests = 0;      ///< of the trace, that were replayed; 0: none were tried
  Lever base;               ///< without a change
  std::vector<Lever> tried; ///< the largest cut of the mean end-to-end time first
};

/// Replays the first `requests` requests once for each lever that applies, some at once. A lever
/// that cannot run (a request too long for its pool) is left out.
Result<Levers> tryLevers(const Trace &trace, const CostModel &cost, const ReplayOptions &options,
                         const ServiceLevels &levels, size_t requests);

/// The same query heads on other numbers of KV heads, everything else as it was replayed.
struct GroupRow {
  uint32_t kvHeads = 0, group = 0;
  double kvBytesPerToken = 0;
  double poolTokens = 0;      ///< that the same bytes would hold
  double decodeAttention = 0; ///< s, of the whole replay
  double meanStep = 0;        ///< s
};
std::vector<GroupRow> groupTable(const CostModel &cost, const ReplayResult &result);

/// What one load of a tile looks like under a layout. Time follows only from a measured table.
struct LayoutRow {
  std::string layout;         ///< "nhd": tokens before heads; "hnd": heads before tokens
  double contiguousBytes = 0; ///< of one head, before the address jumps
  double boxesPerTile = 0;    ///< TMA boxes for a tile of PageSurvey::tileTokens, as allocated
  bool measured = false;      ///< the kernel table in use is of this layout
};
std::vector<LayoutRow> layoutTable(const CostModel &cost, const ReplayResult &result);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_WHATIF_H
