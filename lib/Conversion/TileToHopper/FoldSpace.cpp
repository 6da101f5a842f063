//===- FoldSpace.cpp - what a kernel knows of its space -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldSpace.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

template <typename Op> static Op only(Block &block) {
  auto ops = block.getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

FoldSpace::FoldSpace(tile::SpaceOp space, size_t maxRanges) {
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
  queryRows = work(load.getBody());
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
  minQLen = space.getMinQLen();
  maxQLen = space.getMaxQLen();
  maxima = tile::boundsOf(space);
  kvHeads = kv.getHeads();
  element = kv.getElementType();
  queryElement = cast<MemRefType>(query.getType()).getElementType();
  pageSize = kv.getPageSize();

  bounds = deriveTileBounds(maskSets);
  ranges = visitKinds(bounds);
  hull = ranges.size() > maxRanges || llvm::is_contained(ranges, VisitKind::Test);
}

bool FoldSpace::hasKeyStarts() const { return dense || tile::PagedOp(paged).getStarts(); }

bool FoldSpace::hasMadeExtents() const {
  Values read{rows};
  if (tile::PagedOp op = paged)
    read.append({op.getTable(), op.getStarts(), op.getLens()});
  else
    read.push_back(tile::DenseOp(dense).getRows());
  read.append(maskSymbols);
  read.append(maskRowValues);
  return llvm::any_of(read, [](Value value) {
    return value && isa<MemRefType>(value.getType()) && !isa<BlockArgument>(value);
  });
}
