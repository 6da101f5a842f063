//===- Timing.h - the time of a launch --------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_TIMING_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_TIMING_H

#include "Execution.h"

namespace pagefold::run {

/// Launches `runs` times (appending again writes the same rows) and prints the median, the range,
/// and what the work of Work.h makes of it. Gives the median, in seconds.
Result<double> printTiming(Graph &graph, Execution &execution, const std::vector<Array> &arguments,
                           const std::vector<Array> &results, unsigned runs,
                           llvm::raw_ostream &out);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_TIMING_H
