//===- StreamedSpace.cpp - a space as the streaming schedule sees it ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedSpace.h"

#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Each range is one selection more from a visit to its slice, and two registers.
static constexpr size_t kMaxRanges = 8;

/// Of the cache that a space reads, by the kernels before it.
static bool onlyNewRowsAreWritten(tile::SpaceOp space) {
  auto rowsOf = [](Value batch) { return batch.getDefiningOp<tile::BatchOp>().getRows(); };
  auto paged = space.getKv().getDefiningOp<tile::PagedOp>();
  if (!paged || !isa<BlockArgument>(paged.getKPages()) || !isa<BlockArgument>(paged.getVPages()))
    return false;
  WalkResult result = space->getBlock()->walk([&](tile::AppendOp append) {
    auto target = append.getKv().getDefiningOp<tile::PagedOp>();
    bool isNew = target == paged && rowsOf(append.getBatch()) == rowsOf(space.getBatch());
    return isNew ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

StreamedSpace::StreamedSpace(tile::SpaceOp space, attn::BoundsAttr bounds)
    : FoldSpace(space, kMaxRanges), packedRows(space.mostQueryRows(bounds.getQLen()) * group) {
  StreamingShape shape = *streamingShape(space.getKv().getType(), packedRows);
  warps = shape.warps;
  stages = shape.stages;
  int64_t splits = space.getSchedule()->getSplits();
  fixedPieces = splits > 1 ? splits : 0;
  auto appends = space.getBody().getOps<tile::AppendOp>();
  append = appends.empty() ? tile::AppendOp() : *appends.begin();
  keepsOldKeys = !hasMadeExtents() && onlyNewRowsAreWritten(space);
}

Type StreamedSpace::productElement() const {
  return isBytes() ? Float16Type::get(element.getContext()) : element;
}

int64_t StreamedSpace::boxKeys() const {
  int64_t together = dense ? kvTile : std::gcd(pageSize, kvTile);
  return together % kHopper.octetRows ? 0 : together;
}

/// A box of eight keys is an octet of a slice, with all panels: so it lies there as it comes.
Order StreamedSpace::orderOf(int64_t dim) const {
  bool areOctets = boxKeys() == kHopper.octetRows && !isBytes();
  return areOctets && isWholePanels(dim) && panelsOf(dim) > 1 ? Order::Octets : Order::Panels;
}

RingType StreamedSpace::ring(int64_t dim) const {
  return RingType::get(element.getContext(), stages, kvTile, dim, element, orderOf(dim), 0, warps);
}

static constexpr int64_t kWordBytes = 4;

StateAreas::StateAreas(HopperBuilder &b, const StreamedSpace &space, const StreamedRings &rings)
    : count(2 * space.warps), areaWords(space.areaWords()) {
  int64_t keyBytes = space.keyRing().allStages() * space.keyRing().tileBytes();
  int64_t valueBytes = space.valueRing().allStages() * space.valueRing().tileBytes();
  ringWords = keyBytes / space.warps / kWordBytes;
  firstState = (keyBytes + valueBytes) / kWordBytes;
  firstNote = firstState + space.warps * areaWords;
  auto type = WordsType::get(b.getContext(), firstNote + count * PieceNote::Words);
  words = AllocWordsOp::create(b, type, rings.keys);
}

Value StateAreas::stateStart(HopperBuilder &b, Value area) const {
  Value warp = b.divide(area, 2), second = b.mul(warp, ringWords);
  Value first = b.add(b.mul(warp, areaWords), firstState);
  return b.select(b.equal(b.remainder(area, 2), b.i32(0)), first, second);
}

Value StateAreas::noteStart(HopperBuilder &b, Value area) const {
  return b.add(b.mul(area, PieceNote::Words), firstNote);
}
