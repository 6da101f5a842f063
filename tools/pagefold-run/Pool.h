//===- Pool.h - a generated pool of pages -----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_POOL_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_POOL_H

#include "Batch.h"

#include "llvm/ADT/DenseMap.h"

#include <random>

namespace pagefold::run {

/// Which pages each request has, and which slots hold tokens before the call.
class Pool {
public:
  /// Draws pages in random order. `pages` below what the batch needs is an error.
  static Result<Pool> draw(const CacheParameters &cache, const Batch &batch,
                           std::optional<int64_t> pages, std::mt19937_64 &random);
  /// Takes the pages from a table that is given; bad entries are told by the checks.
  static Pool fromTable(const CacheParameters &cache, const Batch &batch, const Array &table,
                        const Array *starts, std::optional<int64_t> pages);

  int64_t pages() const { return pages_; }
  /// Page ids of a request.
  const std::vector<int64_t> &pagesOf(int64_t request) const { return table_[request]; }
  /// Whether a slot holds a token that the call does not append.
  bool owned(int64_t page, int64_t slot) const { return slot < stored_.lookup(page); }

private:
  void own(const CacheParameters &cache, const Batch &batch);

  int64_t pages_ = 0, pageSize_ = 1;
  std::vector<std::vector<int64_t>> table_;
  llvm::DenseMap<int64_t, int64_t> stored_; ///< by page: how many of its first slots
};

/// K and V pages in memory, zero-filled, as views in the order that the graph declares.
Result<std::pair<Array, Array>> allocatePages(const CacheParameters &cache, DType dtype,
                                              int64_t pages, MemoryLayout layout);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_POOL_H
