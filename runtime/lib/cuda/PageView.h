//===- PageView.h - pages as a tensor map sees them -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of TMA fills shared memory in the order of its box. Products want the slots of a short
// page as [row / 8][panel][row mod 8][64 elements], which makes five dimensions of the pages'
// [pages, page, heads, dim], of 16-bit elements with dim = panels x 64. Two views give one box
// (64, 8, panels, rows / 8, 1), innermost first:
//
//   A  (64, 8, panels x heads, page / 8, pages)    heads lie next to each other in a slot
//   B  (64, 8, panels, page / 8, heads of pages)   pages lie a whole number of heads apart
//
// A is that of pages stored [page, heads, dim] ("nhd"), B of [heads, page, dim] ("hnd"). Keys and
// values may lie interleaved in one allocation: a view B then spans both, and the step from page to
// page passes over the other's heads.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_PAGEVIEW_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_PAGEVIEW_H

#include "TensorMapCache.h"

#include <span>

namespace pagefold::runtime {

struct PageView {
  std::array<uint64_t, 5> extents; ///< elements
  std::array<uint64_t, 4> strides; ///< bytes, of each dimension but the innermost
  std::array<int32_t, 3> step;     ///< by ParameterPlan::Step, which says a slot's coordinates
};

/// The view of an argument that has elements, by its four extents and four strides, in elements.
/// InvalidArgument where there is none. What the chip asks of strides, encodeTensorMap() checks.
Result<PageView> viewPages(std::span<const int64_t, 8> layout);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_PAGEVIEW_H
