//===- PageView.cpp - pages as a tensor map sees them ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageView.h"

#include "../core/PlanRules.h"

#include <limits>

using namespace pagefold::runtime;

static constexpr int64_t kElementBytes = 2;
static constexpr int64_t kPanelBytes = kPanelElements * kElementBytes;
static constexpr int64_t kMaxOuter = std::numeric_limits<int32_t>::max(); ///< a coordinate's type

static uint64_t bytes(int64_t elements) {
  return static_cast<uint64_t>(elements) * static_cast<uint64_t>(kElementBytes);
}

static tl::unexpected<Error> refuseLayout(int64_t dim, int64_t headStride, int64_t pageStride) {
  return fail(ErrorCode::InvalidArgument,
              "expects heads next to each other in a page (" + std::to_string(dim) +
                  " elements apart) or pages a whole number of heads apart, got heads " +
                  std::to_string(headStride) + " and pages " + std::to_string(pageStride) +
                  " elements apart; lay pages out as [pages, page, heads, dim] (nhd) or "
                  "[pages, heads, page, dim] (hnd)");
}

Result<PageView> pagefold::runtime::viewPages(std::span<const int64_t, 8> layout) {
  const auto extents = layout.first<4>(), strides = layout.last<4>();
  const int64_t pages = extents[0], page = extents[1], heads = extents[2], dim = extents[3];
  const int64_t pageStride = strides[0], headStride = strides[2];
  const int64_t panels = dim / kPanelElements;
  const uint64_t slotBytes = bytes(strides[1]);
  int64_t outer = pages, outerPanels = panels;
  uint64_t outerBytes = pages == 1 ? TensorMapKey::kUnusedStride : bytes(pageStride);
  PageView view;
  if (heads == 1 || headStride == dim) {
    outerPanels *= heads;
    view.step = {static_cast<int32_t>(panels), 1, 0};
  } else if (headStride > 0 && (pages == 1 || (pageStride >= 0 && pageStride % headStride == 0))) {
    // Of one page, as if the next came after its heads: what is outside of the pages stays outside.
    const int64_t step = pages == 1 ? heads : pageStride / headStride;
    outer = (pages - 1) * step + heads; // fits: the tensor's bytes fit the address space
    outerBytes = bytes(headStride);
    view.step = {0, static_cast<int32_t>(step), 1};
  } else {
    return refuseLayout(dim, headStride, pageStride);
  }
  if (outer > kMaxOuter)
    return fail(ErrorCode::InvalidArgument,
                "expects pages (heads of pages, where a page holds head after head) below 2^31 on "
                "a GPU, got " +
                    std::to_string(outer) + "; use fewer or larger pages");
  view.extents = {static_cast<uint64_t>(kPanelElements), static_cast<uint64_t>(kSwizzleRows),
                  static_cast<uint64_t>(outerPanels), static_cast<uint64_t>(page / kSwizzleRows),
                  static_cast<uint64_t>(outer)};
  view.strides = {slotBytes, static_cast<uint64_t>(kPanelBytes),
                  slotBytes * static_cast<uint64_t>(kSwizzleRows), outerBytes};
  return view;
}
