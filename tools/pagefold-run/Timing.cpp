//===- Timing.cpp - the time of a launch ----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include "Work.h"

#include "llvm/Support/Format.h"

#include <chrono>

using namespace pagefold;
using namespace pagefold::run;

Status run::printTiming(Graph &graph, Program &program, const std::vector<Array> &arguments,
                        const std::vector<Array> &results, unsigned runs, llvm::raw_ostream &out) {
  std::vector<double> seconds;
  for (unsigned i = 0; i < std::max(runs, 1u); ++i) {
    auto start = std::chrono::steady_clock::now();
    if (Status status = program.launch(arguments, results); !status)
      return status;
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  Work work = measureWork(graph, arguments, results);
  out << "time: " << llvm::format("%.4f", median * 1e3) << " ms, the median of " << seconds.size()
      << " (" << llvm::format("%.4f to %.4f", seconds.front() * 1e3, seconds.back() * 1e3) << "); "
      << llvm::format("%.4g MB, %.4g GB/s; ", work.bytes / 1e6, work.bytes / median / 1e9)
      << llvm::format("%.4g GFLOP, %.4g GFLOP/s\n", work.operations / 1e9,
                      work.operations / median / 1e9);
  return {};
}
