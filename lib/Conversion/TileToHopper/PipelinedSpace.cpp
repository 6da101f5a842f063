//===- PipelinedSpace.cpp - a space as the pipelined schedule sees it -----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinedSpace.h"
#include "TileNotes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Loops over KV tiles in one kernel: each repeats the code of a step.
static constexpr size_t kMaxRanges = 4;

template <typename Op> static Op only(Block &block) {
  auto ops = block.getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

PipelinedSpace::PipelinedSpace(tile::SpaceOp space) {
  Block &body = space.getBody().front();
  auto load = only<tile::LoadQOp>(body);
  auto finish = only<tile::FinishOp>(body);
  auto map = only<tile::MapOp>(only<tile::FoldOp>(body).getBody().front());
  auto mask = map.getMask().getDefiningOp<tile::MaskOp>();
  auto batch = space.getBatch().getDefiningOp<tile::BatchOp>();
  query = load.getQuery();
  scale = load.getScale().convertToDouble();
  output = finish.getOutput();
  lse = finish.getLse();
  sinks = finish.getSinks();
  rows = batch.getRows();
  ropeTables.assign(batch.getTables().begin(), batch.getTables().end());
  paged = space.getKv().getDefiningOp<tile::PagedOp>();
  dense = space.getKv().getDefiningOp<tile::DenseOp>();
  auto work = [](Region &region) { return tile::isIdentity(region) ? nullptr : &region; };
  score = work(map.getBody());
  epilogue = work(finish.getBody());
  maskSets = mask.getSets().getMaskSets();
  maskSymbols.assign(mask.getSymbols().begin(), mask.getSymbols().end());
  maskRowValues.assign(mask.getRowValues().begin(), mask.getRowValues().end());

  tile::KVType kv = space.getKv().getType();
  tile::ScheduleAttr schedule = *space.getSchedule();
  qTile = schedule.getQTile();
  kvTile = schedule.getKvTile();
  kDim = kv.getKDim();
  vDim = kv.getVDim();
  group = space.getGroup();
  kvHeads = kv.getHeads();
  element = kv.getElementType();
  pageSize = kv.getPageSize();
  maxParts = schedule.getSplits();

  bounds = deriveTileBounds(maskSets);
  SmallVector<VisitKind> kinds = visitKinds(bounds);
  hull = kinds.size() > kMaxRanges || llvm::is_contained(kinds, VisitKind::Test);
  if (hull)
    kinds = {VisitKind::Partial};
  for (VisitKind kind : llvm::reverse(kinds))
    rangeIsMasked.push_back(kind != VisitKind::Full);
}

bool PipelinedSpace::hasKeyStarts() const { return dense || tile::PagedOp(paged).getStarts(); }

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
  return RingType::get(element.getContext(), 1, 8, 8, element, Order::Panels, TileNote::Words);
}
RingType PipelinedSpace::queryRing() const {
  return RingType::get(element.getContext(), 1, qTile, kDim, element, Order::Panels,
                       TileNote::Words);
}
RingType PipelinedSpace::keyRing() const {
  return RingType::get(element.getContext(), stages, kvTile, kDim, element, orderOf(kDim), 0);
}
RingType PipelinedSpace::valueRing() const {
  return RingType::get(element.getContext(), stages, kvTile, vDim, element, orderOf(vDim), 0);
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
