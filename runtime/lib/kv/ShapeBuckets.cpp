//===- ShapeBuckets.cpp - sizes a captured graph exists for ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/ShapeBuckets.h"

#include <algorithm>
#include <string>

using namespace pagefold::runtime;

Result<ShapeBuckets> ShapeBuckets::create(std::span<const int32_t> sizes) {
  int32_t last = 0;
  for (int32_t size : sizes) {
    if (size <= last)
      return fail(ErrorCode::InvalidArgument, "shape buckets expect positive, growing sizes, got " +
                                                  std::to_string(size) + " after " +
                                                  std::to_string(last));
    last = size;
  }
  ShapeBuckets buckets;
  buckets.sizes_.assign(sizes.begin(), sizes.end());
  return buckets;
}

int32_t ShapeBuckets::roundUp(int32_t count) const {
  auto fit = std::lower_bound(sizes_.begin(), sizes_.end(), count);
  return count == 0 || fit == sizes_.end() ? count : *fit;
}
