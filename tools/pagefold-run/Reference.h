//===- Reference.h - the oracle on a graph's arrays -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_REFERENCE_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_REFERENCE_H

#include "Graph.h"

#include "pagefold/Oracle/Compare.h"

namespace pagefold::run {

/// The oracle's evaluation, with its arguments as one array a parameter.
struct Reference {
  std::vector<oracle::Output> outputs;
  std::vector<Array> arguments; ///< as the call leaves them
};
Result<Reference> evaluateReference(Graph &graph, const std::vector<Array> &arguments);

/// One line a result and a written pool. Gives whether all agree.
bool printComparison(Graph &graph, const Reference &reference, const std::vector<Array> &results,
                     const std::vector<Array> &before, const std::vector<Array> &after,
                     llvm::raw_ostream &out);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_REFERENCE_H
