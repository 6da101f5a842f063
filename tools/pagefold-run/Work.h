//===- Work.h - bytes and operations of a call ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a call has to do, whatever the code does: each argument read once, each result written once,
// of pages only what the requests own; two operations a multiply-add over the visible (query, key)
// pairs. Dividing by the time gives rates that compare across schedules.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_WORK_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_WORK_H

#include "Graph.h"

namespace pagefold::run {

struct Work {
  double bytes = 0;
  double operations = 0;
};

/// Attention over lengths that the graph computes counts no operations. Rows of long requests are
/// sampled.
Work measureWork(Graph &graph, const std::vector<Array> &arguments,
                 const std::vector<Array> &results);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_WORK_H
