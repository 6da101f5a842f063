//===- Batch.h - the batch that inputs are generated for --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_BATCH_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_BATCH_H

#include "Inputs.h"

namespace pagefold::run {

struct Batch {
  std::vector<int64_t> lens;  ///< keys of each request
  std::vector<int64_t> qLens; ///< new tokens of each request
  int64_t shared = 0;         ///< first keys that all requests have in common

  int64_t size() const { return static_cast<int64_t>(lens.size()); }
  int64_t tokens() const;
  int64_t keys() const;
  int64_t longest() const;
};

/// The batch that files and settings describe. An error where the graph wants lengths and none are
/// given, or where the descriptions do not agree.
Result<Batch> planBatch(const Graph &graph, const Inputs &inputs);

/// Chooses the first of the graph's declared maxima that hold the batch; an error where none do.
/// Called before anything of the batch's size is made.
Status chooseBounds(Graph &graph, const Batch &batch);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_BATCH_H
