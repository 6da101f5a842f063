//===- StreamedSpace.cpp - a space as the streaming schedule sees it ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedSpace.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

StreamedSpace::StreamedSpace(tile::SpaceOp space, attn::BoundsAttr bounds)
    : FoldSpace(space), packedRows(space.mostQueryRows(bounds.getQLen()) * group) {
  StreamingShape shape = *streamingShape(kDim, vDim, packedRows);
  warps = shape.warps;
  stages = shape.stages;
  maxPieces = space.getSchedule()->getSplits();
  int64_t slices = llvm::divideCeil(bounds.getKvLen(), kvTile);
  pieceSlices = maxPieces > 1 ? llvm::divideCeil(slices, maxPieces) : 0;
}

RingType StreamedSpace::ring(int64_t dim) const {
  return RingType::get(element.getContext(), stages, kvTile, dim, element, Order::Panels, 0, warps);
}

StateAreas::StateAreas(HopperBuilder &b, const StreamedSpace &space)
    : count(2 * space.warps), firstNote(count * space.areaWords()) {
  auto type = WordsType::get(b.getContext(), firstNote + count * PieceNote::Words);
  words = AllocWordsOp::create(b, type);
}
