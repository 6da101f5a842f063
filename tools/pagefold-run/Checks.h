//===- Checks.h - arrays against the graph, before anything runs -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime checks all of this again. Here the messages know the source: where the argument
// stands, its name, and the file that an array came from.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_CHECKS_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_CHECKS_H

#include "Graph.h"

namespace pagefold::run {

/// Element type, rank, static dimensions and the innermost stride. `source` says where the array is
/// from.
Status checkType(const Graph &graph, const Parameter &parameter, const Array &array,
                 const std::string &source);

/// What the arrays say together: extents that agree, offsets that do not fall, lengths within the
/// table, page ids within the pool. One array a parameter.
Status checkBatch(Graph &graph, const std::vector<Array> &arrays);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_CHECKS_H
