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

GatherSource::GatherSource(SpaceKernel &kernel, const PipelinedSpace &space)
    : PagedSource(kernel, space) {
  tile::PagedOp paged = space.paged;
  auto side = [](Value buffer, int64_t dim) { return Side{buffer, {}, dim, {}, {}, {}}; };
  keys = side(paged.getKPages(), space.kDim);
  values = side(paged.getVPages(), space.vDim);
}

Value GatherSource::keyOf(Value tile, Value chunk) {
  return b.add(b.add(b.mul(tile, space.kvTile), b.mul(chunk, kWarp)), lane);
}

Values GatherSource::lookUp(const Request &request, Value tile) {
  Values pages;
  for (int64_t first = 0; first < space.kvTile; first += kWarp) {
    int64_t rows = std::min(space.kvTile - first, kWarp);
    Value hasRow = rows == kWarp ? b.boolean(true) : b.less(lane, b.i32(rows));
    pages.push_back(findPage(request, keyOf(tile, b.i32(first / kWarp)), hasRow));
  }
  return pages;
}

GatherSource::Chunk GatherSource::findRows(const Side &side, Value number, Value kvHead, Value tile,
                                           Value page) {
  Value slot = b.remainder(keyOf(tile, number), space.pageSize);
  auto along = [&](int64_t dim, Value index) {
    return b.mul(b.widen(index), kernel.stride(side.buffer, dim));
  };
  Value start = b.add(b.add(along(0, page), along(1, slot)), along(2, kvHead));
  Value present = b.atLeast(page, b.i32(0));
  start = b.select(present, start, b.i64(0));
  auto half = [&](Value bits) { return b.createOrFold<arith::TruncIOp>(b.getI32Type(), bits); };
  return {b.mul(number, kWarp), half(start), half(b.createOrFold<arith::ShRUIOp>(start, b.i64(32))),
          BallotOp::create(b, b.getI32Type(), present)};
}

/// A row takes a power of two of lanes, so that a lane keeps its unit; those past the row's units
/// rest. The last unit may lie past the head dimension, where a product still reads: zeros.
void GatherSource::copyRows(const Side &side, Value ring, Value turn, const Chunk &chunk) {
  int64_t units = llvm::alignTo(side.dim, kDepth) / kUnit;
  int64_t lanes = llvm::PowerOf2Ceil(units), rowsAtOnce = kWarp / lanes;
  int64_t lastRows = space.kvTile % kWarp ? space.kvTile % kWarp : kWarp;
  int64_t step = std::min(lastRows, kCopiesAtOnce * rowsAtOnce);
  Value unit = b.remainder(lane, lanes), laneRow = b.divide(lane, lanes);
  Value unitStart = b.widen(b.mul(unit, kUnit));
  bool isPadded = units * kUnit > side.dim;
  auto copyStep = [&](Value first) {
    struct Copy {
      Value row, start, present;
    };
    SmallVector<Copy> copies;
    for (int64_t at = 0; at < step; at += rowsAtOnce) {
      Value row = b.add(b.add(first, laneRow), at);
      Value low = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(chunk.low, row));
      Value high = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(chunk.high, row));
      Value start = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, b.i64(32)), low);
      Value bit = arith::ShRUIOp::create(b, chunk.present, row);
      Value present = arith::TruncIOp::create(b, b.getI1Type(), bit);
      if (isPadded)
        present = b.both(present, b.less(unit, b.i32(side.dim / kUnit)));
      copies.push_back({b.add(chunk.firstRow, row), b.add(start, unitStart), present});
    }
    auto start = [&] {
      for (const Copy &copy : copies)
        GatherOp::create(b, ring, turn, copy.row, unit, kernel.vectorPointer(side.buffer), copy.start,
                         copy.present);
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

/// All copies of the tile are under way before any is waited for. A loop, whose pages rotate: of
/// all chunks' code side by side ptxas makes more addresses than there are registers.
void GatherSource::copy(const Side &side, Value ring, Value turn, const Request &, Value kvHead,
                        Value tile, ValueRange found) {
  Values carried{b.i32(0)};
  carried.append(found.begin(), found.end());
  b.whileLoop(
      carried,
      [&](ValueRange now) { return b.less(now[0], b.i32(static_cast<int64_t>(found.size()))); },
      [&](ValueRange now) {
        copyRows(side, ring, turn, findRows(side, now[0], kvHead, tile, now[1]));
        Values next{b.add(now[0], 1)};
        next.append(now.begin() + 2, now.end());
        next.push_back(now[1]);
        return next;
      });
  ArriveGatheredOp::create(b, ring, turn);
}
