//===- LogHistogram.cpp - a histogram over many orders of magnitude -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LogHistogram.h"

#include <algorithm>
#include <cmath>

namespace pagefold::report {

size_t LogHistogram::bucketOf(double value) {
  if (!(value > smallest))
    return 0;
  double position = std::ceil(std::log10(value / smallest) * bucketsPerDecade - 1e-9);
  return size_t(std::min(position, double(bucketsPerDecade * decades)));
}

double LogHistogram::upperBound(size_t bucket) {
  return smallest * std::pow(10, double(bucket) / bucketsPerDecade);
}

void LogHistogram::add(double value, uint64_t times) {
  counts[bucketOf(value)] += times;
  total += times;
  sum += value * times;
}

double LogHistogram::quantile(double part) const {
  if (total == 0)
    return 0;
  uint64_t rank = std::max<uint64_t>(1, uint64_t(std::ceil(part * total))), below = 0;
  size_t bucket = 0;
  while (bucket + 1 < counts.size() && (below += counts[bucket]) < rank)
    ++bucket;
  return upperBound(bucket);
}

uint64_t LogHistogram::countUpTo(double bound) const {
  uint64_t below = 0;
  for (size_t bucket = 0; bucket < counts.size() && upperBound(bucket) <= bound * (1 + 1e-9);
       ++bucket)
    below += counts[bucket];
  return below;
}

} // namespace pagefold::report
