//===- GatherSource.cpp - pages that TMA boxes cannot bring ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherSource.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Elements that one lane copies at a time, and columns that a product reads at a time.
static constexpr int64_t kUnit = 8, kDepth = 16;

/// Copies that a lane starts in one turn of the loop: shuffles and addresses of one hide behind
/// those of the others.
static constexpr int64_t kCopiesAtOnce = 4;

/// Where a row starts that is not there. Negative; and since elements have two bytes its address is
/// the pool's own, though nothing is read.
static constexpr int64_t kNoRow = std::numeric_limits<int64_t>::min();

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

GatherSource::Chunk GatherSource::findRows(const Side &side, Value firstRow, Value kvHead,
                                           Value tile, Value page) {
  Value slot = b.remainder(keyOf(tile, b.add(firstRow, lane)), space.pageSize);
  auto along = [&](int64_t dim, Value index) {
    return b.mul(b.widen(index), kernel.stride(side.buffer, dim));
  };
  Value start = b.add(b.add(along(0, page), along(1, slot)), along(2, kvHead));
  start = b.select(b.atLeast(page, b.i32(0)), start, b.i64(kNoRow));
  auto half = [&](Value bits) { return b.createOrFold<arith::TruncIOp>(b.getI32Type(), bits); };
  return {firstRow, half(start), half(b.createOrFold<arith::ShRUIOp>(start, b.i64(32)))};
}

/// A row takes a power of two of lanes, so that a lane keeps its unit; those past the row's units
/// rest. The last unit may lie past the head dimension, where a product still reads: zeros.
void GatherSource::copyRows(const Side &side, Value ring, Value turn, const Chunk &chunk) {
  int64_t units = llvm::alignTo(side.dim, kDepth) / kUnit;
  int64_t lanes = llvm::PowerOf2Ceil(units), rowsAtOnce = kWarp / lanes;
  int64_t lastRows = space.kvTile % kWarp ? space.kvTile % kWarp : kWarp;
  int64_t step = std::min(lastRows, kCopiesAtOnce * rowsAtOnce);
  Value unit = b.remainder(lane, lanes), laneRow = b.divide(lane, lanes);
  bool isPadded = units * kUnit > side.dim;
  auto copyStep = [&](Value first) {
    struct Copy {
      Value row, start, present;
    };
    SmallVector<Copy> copies;
    for (int64_t at = 0; at < step; at += rowsAtOnce) {
      // Of the tile; modulo 32 the lane that found it. As a sum with the chunk's first row it is
      // made where it is needed: lane numbers alone LLVM would make once, and keep in 16 registers.
      Value row = b.add(chunk.firstRow, b.add(b.add(first, laneRow), at));
      Value low = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(chunk.low, row));
      Value high = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(chunk.high, row));
      Value start = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, b.i64(32)), low);
      Value present = b.atLeast(start, b.i64(0));
      if (isPadded)
        present = b.both(present, b.less(unit, b.i32(side.dim / kUnit)));
      copies.push_back({row, start, present});
    }
    auto start = [&] {
      for (const Copy &copy : copies)
        GatherOp::create(b, ring, turn, copy.row, unit, kernel.vectorPointer(side.buffer),
                         copy.start, copy.present);
    };
    units == lanes ? start() : b.ifThen(b.less(unit, b.i32(units)), start);
  };
  Value rows = b.i32(kWarp);
  if (lastRows < kWarp)
    rows = b.min(rows, b.sub(b.i32(space.kvTile), chunk.firstRow));
  b.whileLoop(
      {b.i32(0)}, [&](ValueRange first) { return b.less(first[0], rows); },
      [&](ValueRange first) {
        copyStep(first[0]);
        return Values{b.add(first[0], step)};
      });
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
        copyRows(side, ring, turn, findRows(side, now[0], kvHead, tile, page));
        return Values{next, nextFound, b.select(isBroken, now[1], now[2])};
      })[2];
  ArriveGatheredOp::create(b, ring, turn);
  table.report(request, broken, b.compare(arith::CmpIPredicate::ne, broken, none));
}
