//===- Timing.cpp - the time of a launch ----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include "Work.h"

#include "llvm/Support/Format.h"

#include <algorithm>

using namespace pagefold;
using namespace pagefold::run;

Result<double> run::printTiming(Graph &graph, Execution &execution,
                                const std::vector<Array> &arguments,
                                const std::vector<Array> &results, unsigned runs,
                                llvm::raw_ostream &out) {
  Result<std::vector<double>> measured = execution.time(std::max(runs, 1u));
  if (!measured)
    return tl::unexpected(measured.error());
  std::vector<double> seconds = std::move(*measured);
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  Work work = measureWork(graph, arguments, results);
  out << "time: " << llvm::format("%.4f", median * 1e3) << " ms, the median of " << seconds.size()
      << " (" << llvm::format("%.4f to %.4f", seconds.front() * 1e3, seconds.back() * 1e3) << "); "
      << llvm::format("%.4g MB, %.4g GB/s; ", work.bytes / 1e6, work.bytes / median / 1e9)
      << llvm::format("%.4g GFLOP, %.4g GFLOP/s\n", work.operations / 1e9,
                      work.operations / median / 1e9);
  return median;
}
