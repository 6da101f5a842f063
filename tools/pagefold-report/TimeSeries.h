//===- TimeSeries.h - a replay over time, in few bins -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a replay will last is not known when it starts: bins begin narrow, and whenever there
// would be too many, neighbours are merged. Levels (pages, requests) are weighted by time.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_TIMESERIES_H
#define PAGEFOLD_REPORT_TIMESERIES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pagefold::report {

/// What holds during one step.
struct Levels {
  double livePages = 0, idlePages = 0, freePages = 0;
  double liveTokens = 0; ///< in live pages, at the end of the step
  double running = 0, waiting = 0;
};

struct TimeBin {
  double time = 0; ///< s covered by steps; the rest of the bin the device was idle
  Levels integral; ///< of each level over `time`
  double maxLivePages = 0;
  double longestStep = 0; ///< s
  uint64_t prefillTokens = 0, decodeTokens = 0;

  void merge(const TimeBin &other);
};

class TimeSeries {
public:
  static constexpr size_t maxBins = 240;

  /// A step from `begin` for `duration` seconds; counted in the bin in which it begins.
  void addStep(double begin, double duration, const Levels &levels, uint64_t prefillTokens,
               uint64_t decodeTokens);

  double binWidth() const { return width; } ///< s
  const std::vector<TimeBin> &bins() const { return theBins; }

private:
  double width = 0.01;
  std::vector<TimeBin> theBins;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_TIMESERIES_H
