//===- LogHistogram.h - a histogram over many orders of magnitude -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Page lifetimes run from milliseconds to hours, and there are millions of them. Buckets of equal
// ratio keep their quantiles to 6 % in constant room. Requests are few enough to be kept and
// sorted instead (Statistics.h).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_LOGHISTOGRAM_H
#define PAGEFOLD_REPORT_LOGHISTOGRAM_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace pagefold::report {

class LogHistogram {
public:
  /// Counts a value; below 1e-4 (0 among them) it counts as 1e-4, above 1e6 as that.
  void add(double value, uint64_t times = 1);

  uint64_t count() const { return total; }
  double mean() const { return total ? sum / total : 0; }
  /// The value below which this part (0..1) of all lie; 0 where there are none.
  double quantile(double part) const;
  /// How many values lie at or below the bound.
  uint64_t countUpTo(double bound) const;

private:
  static constexpr int bucketsPerDecade = 20, decades = 10;
  static constexpr double smallest = 1e-4;
  static size_t bucketOf(double value);
  static double upperBound(size_t bucket);

  std::array<uint64_t, bucketsPerDecade * decades + 1> counts{};
  uint64_t total = 0;
  double sum = 0;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_LOGHISTOGRAM_H
