//===- StreamedSpace.cpp - a space as the streaming schedule sees it ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedSpace.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Each range is one selection more from a visit to its slice, and two registers.
static constexpr size_t kMaxRanges = 8;

StreamedSpace::StreamedSpace(tile::SpaceOp space, int64_t maxQLen)
    : FoldSpace(space, kMaxRanges), packedRows(maxQLen * group) {
  StreamingShape shape = *streamingShape(kDim, vDim, packedRows);
  warps = shape.warps;
  stages = shape.stages;
}

RingType StreamedSpace::ring(int64_t dim) const {
  return RingType::get(element.getContext(), stages, kvTile, dim, element, Order::Panels, 0, warps);
}

StateAreas::StateAreas(HopperBuilder &b, const StreamedSpace &space)
    : count(2 * space.warps), firstNote(count * space.areaWords()) {
  auto type = WordsType::get(b.getContext(), firstNote + count * PieceNote::Words);
  words = AllocWordsOp::create(b, type);
}
