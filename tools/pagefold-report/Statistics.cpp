//===- Statistics.cpp - percentiles, means, slopes ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pagefold::report {

double percentile(const std::vector<double> &sorted, double percent) {
  if (sorted.empty())
    return 0;
  double position = percent / 100 * (sorted.size() - 1);
  size_t below = size_t(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> values) {
  Summary summary;
  if (values.empty())
    return summary;
  std::sort(values.begin(), values.end());
  summary.count = values.size();
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / values.size();
  double squares = 0;
  for (double value : values)
    squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = std::sqrt(squares / values.size());
  summary.median = percentile(values, 50);
  summary.p95 = percentile(values, 95);
  summary.p99 = percentile(values, 99);
  summary.max = values.back();
  return summary;
}

double slope(const std::vector<double> &x, const std::vector<double> &y) {
  if (x.size() < 2)
    return 0;
  double meanX = std::accumulate(x.begin(), x.end(), 0.0) / x.size();
  double meanY = std::accumulate(y.begin(), y.end(), 0.0) / y.size();
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - meanX) * (y[i] - meanY);
    variance += (x[i] - meanX) * (x[i] - meanX);
  }
  return variance > 0 ? covariance / variance : 0;
}

} // namespace pagefold::report
