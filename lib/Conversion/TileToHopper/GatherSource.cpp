//===- GatherSource.cpp - pages that TMA boxes cannot bring ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherSource.h"
#include "RowGather.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Copies that a lane starts in one turn of the loop: shuffles and addresses of one hide behind
/// those of the others.
static constexpr int64_t kCopiesAtOnce = 4;

GatherSource::GatherSource(SpaceKernel &kernel, const PipelinedSpace &space)
    : PagedSource(kernel, space) {
  tile::PagedOp paged = space.paged;
  auto side = [](Value buffer, int64_t dim) { return Side{buffer, {}, dim, {}, {}, {}}; };
  keys = side(paged.getKPages(), space.kDim);
  values = side(paged.getVPages(), space.vDim);
}

Value GatherSource::keyOf(Value tile, Value row) { return b.add(b.mul(tile, space.kvTile), row); }

Value GatherSource::lookUpRow(const Request &request, Value tile, Value row) {
  return table.find(request, keyOf(tile, row), b.less(row, b.i32(space.kvTile)));
}

Values GatherSource::lookUp(const Request &request, Value tile) {
  return {lookUpRow(request, tile, lane)};
}

void GatherSource::copyRows(const Side &side, Value ring, Value turn, Value kvHead, Value tile,
                            Value firstRow, Value page) {
  RowGather rows(kernel, side.buffer, space.kvTile, kCopiesAtOnce);
  Value slot = b.remainder(keyOf(tile, b.add(firstRow, lane)), space.pageSize);
  rows.copy({ring, turn, Value()}, rows.find(page, slot, kvHead), firstRow);
}

/// Rows come in chunks, one for each lane. A chunk's pages are looked up while the rows of the
/// chunk before are copied: the table's latency is hidden, and the lane holds two page ids at most,
/// one of them the next tile's. One report a lane: of several broken ids the last.
void GatherSource::bring(const Side &side, Value ring, Value turn, const Request &request,
                         Value kvHead, Value tile, ValueRange found) {
  AcquireOp::create(b, ring, turn);
  Value end = b.i32(space.kvTile), none = b.i32(PageTable::kNoPage);
  Value broken = b.whileLoop(
      {b.i32(0), found[0], none}, [&](ValueRange now) { return b.less(now[0], end); },
      [&](ValueRange now) {
        Value next = b.add(now[0], kWarp);
        Value nextFound = lookUpRow(request, tile, b.add(next, lane));
        auto [page, isBroken] = table.check(now[1]);
        copyRows(side, ring, turn, kvHead, tile, now[0], page);
        return Values{next, nextFound, b.select(isBroken, now[1], now[2])};
      })[2];
  ArriveGatheredOp::create(b, ring, turn);
  table.report(request, broken, b.compare(arith::CmpIPredicate::ne, broken, none));
}
