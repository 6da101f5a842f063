//===- PipelinedSpace.cpp - a space as the pipelined schedule sees it -----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinedSpace.h"
#include "TileNotes.h"
#include "pagefold/Target/Hopper/PipelinedForm.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Loops over KV tiles in one kernel: each repeats the code of a step.
static constexpr size_t kMaxRanges = 4;

PipelinedSpace::PipelinedSpace(tile::SpaceOp space) : FoldSpace(space, kMaxRanges) {
  maxParts = space.getSchedule()->getSplits();
  packed = space->hasAttr(kPackedAttr);
  groupRows = packed ? hopper::groupRows(group) : 1;
  if (hull)
    rangeIsMasked = {true};
  else
    for (VisitKind kind : llvm::reverse(ranges))
      rangeIsMasked.push_back(kind != VisitKind::Full);
}

int64_t PipelinedSpace::boxRows() const {
  if (dense)
    return kvTile;
  int64_t boxed = std::min(pageSize, kvTile);
  bool divides = kvTile % boxed == 0 && pageSize % boxed == 0;
  return divides && boxed % 8 == 0 ? boxed : 0;
}

/// Pages below this are brought as octets of rows where a row has several panels: twice as many
/// boxes of half the bytes keep TMA busy (558 against 703 TFLOP/s with pages of 16).
static constexpr int64_t kShortPage = 64;

Order PipelinedSpace::orderOf(int64_t dim) const {
  bool isShort = paged && pageSize < kShortPage;
  return isShort && isWholePanels(dim) && panelsOf(dim) > 1 ? Order::Octets : Order::Panels;
}

/// Notes alone: the tile is never filled.
RingType PipelinedSpace::tileRing() const {
  return RingType::get(element.getContext(), 1, 8, 8, element, Order::Panels, TileNote::Words, 0);
}
RingType PipelinedSpace::queryRing() const {
  return RingType::get(element.getContext(), 1, qTile, kDim, element, Order::Panels,
                       TileNote::Words, 0);
}
RingType PipelinedSpace::keyRing() const {
  return RingType::get(element.getContext(), stages, kvTile, kDim, element, orderOf(kDim), 0, 0);
}
RingType PipelinedSpace::valueRing() const {
  return RingType::get(element.getContext(), stages, kvTile, vDim, element, orderOf(vDim), 0, 0);
}
SharedType PipelinedSpace::outputTiles() const {
  return SharedType::get(element.getContext(), warpgroups, warpgroupRows(), vDim, element,
                         Order::Panels);
}
FragmentType PipelinedSpace::scoreFragment() const {
  MLIRContext *context = element.getContext();
  return FragmentType::get(context, 64, kvTile, Float32Type::get(context));
}
FragmentType PipelinedSpace::outputFragment() const {
  MLIRContext *context = element.getContext();
  return FragmentType::get(context, 64, vDim, Float32Type::get(context));
}
