//===- Statistics.h - percentiles, means, slopes ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_STATISTICS_H
#define PAGEFOLD_REPORT_STATISTICS_H

#include <cstddef>
#include <vector>

namespace pagefold::report {

/// Of a set of values; all 0 where there are none.
struct Summary {
  std::size_t count = 0;
  double mean = 0, median = 0, deviation = 0; ///< deviation: of the population
  double p95 = 0, p99 = 0, max = 0;
};

Summary summarize(std::vector<double> values);

/// The percentile (0..100) of sorted values, interpolated linearly between the two nearest.
double percentile(const std::vector<double> &sorted, double percent);

/// The least-squares slope of y over x; 0 for fewer than two distinct x.
double slope(const std::vector<double> &x, const std::vector<double> &y);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_STATISTICS_H
