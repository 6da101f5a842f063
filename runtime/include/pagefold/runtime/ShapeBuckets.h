//===- ShapeBuckets.h - sizes a captured graph exists for -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_SHAPEBUCKETS_H
#define PAGEFOLD_RUNTIME_SHAPEBUCKETS_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace pagefold::runtime {

/// Rounds a count up to one of a list, as replaying a captured graph needs. Without a list, or past
/// its end, the count stays as it is (such a step runs without a graph).
class ShapeBuckets {
public:
  ShapeBuckets() = default;
  /// Fails unless the sizes are positive and strictly growing.
  static Result<ShapeBuckets> create(std::span<const int32_t> sizes);
  int32_t roundUp(int32_t count) const;
  bool covers(int32_t count) const { return !sizes_.empty() && count <= sizes_.back(); }

private:
  std::vector<int32_t> sizes_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_SHAPEBUCKETS_H
