//===- RowGather.cpp - a warp copies rows of pages ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowGather.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Bytes that one lane copies at a time.
static constexpr int64_t kUnitBytes = 16;

/// Where a row starts that is not there. Negative; and where elements have two bytes its address is
/// the pool's own, though nothing is read.
static constexpr int64_t kNoRow = std::numeric_limits<int64_t>::min();

RowGather::RowGather(SpaceKernel &kernel, Value pool, int64_t tileRows, int64_t copiesAtOnce)
    : kernel(kernel), b(kernel.builder()), pool(pool), lane(b.lane()), tileRows(tileRows),
      copiesAtOnce(copiesAtOnce) {
  auto type = cast<MemRefType>(pool.getType());
  dim = type.getShape().back();
  unitElements = kUnitBytes * 8 / type.getElementTypeBitWidth();
}

LaneRows RowGather::find(Value page, Value slot, Value kvHead) {
  Value start = kernel.rowStart(pool, {page, slot, kvHead});
  start = b.select(b.atLeast(page, b.i32(0)), start, b.i64(kNoRow));
  auto half = [&](Value bits) { return b.createOrFold<arith::TruncIOp>(b.getI32Type(), bits); };
  return {half(start), half(b.createOrFold<arith::ShRUIOp>(start, b.i64(32)))};
}

/// A row takes a power of two of lanes, so that a lane keeps its unit; those past the row's units
/// rest. The last units may lie past the head dimension, where a product still reads: zeros.
void RowGather::copy(const GatherTarget &target, const LaneRows &rows, Value firstRow,
                     Value firstLane) {
  int64_t units = cast<RingType>(target.ring.getType()).depth() / unitElements;
  int64_t lanes = llvm::PowerOf2Ceil(units), rowsAtOnce = kWarp / lanes;
  int64_t lastRows = tileRows % kWarp ? tileRows % kWarp : kWarp;
  int64_t step = std::min(lastRows, copiesAtOnce * rowsAtOnce);
  Value unit = b.remainder(lane, lanes), laneRow = b.divide(lane, lanes);
  bool isPadded = units * unitElements > dim, isBytes = unitElements == kUnitBytes;
  auto copyStep = [&](Value first) {
    struct Copy {
      Value row, start, present;
    };
    SmallVector<Copy> copies;
    for (int64_t at = 0; at < step; at += rowsAtOnce) {
      // Of the tile; modulo 32 the lane that found it. As a sum with the chunk's first row it is
      // made where it is needed: lane numbers alone LLVM would make once, and keep in 16 registers.
      Value row = b.add(firstRow, b.add(b.add(first, laneRow), at));
      Value from = firstLane ? b.add(row, firstLane) : row;
      Value low = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(rows.low, from));
      Value high = arith::ExtUIOp::create(b, b.getI64Type(), b.shuffle(rows.high, from));
      Value start = arith::OrIOp::create(b, arith::ShLIOp::create(b, high, b.i64(32)), low);
      Value present = b.atLeast(start, b.i64(0));
      if (isPadded)
        present = b.both(present, b.less(unit, b.i32(dim / unitElements)));
      if (isBytes)
        start = b.max(start, b.i64(0)); // of bytes kNoRow is an address far away
      copies.push_back({row, start, present});
    }
    auto start = [&] {
      for (const Copy &copy : copies)
        GatherOp::create(b, target.ring, target.turn, target.warp, copy.row, unit,
                         kernel.vectorPointer(pool), copy.start, copy.present);
    };
    units == lanes ? start() : b.ifThen(b.less(unit, b.i32(units)), start);
  };
  Value count = b.i32(kWarp);
  if (lastRows < kWarp)
    count = b.min(count, b.sub(b.i32(tileRows), firstRow));
  b.whileLoop(
      {b.i32(0)}, [&](ValueRange first) { return b.less(first[0], count); },
      [&](ValueRange first) {
        copyStep(first[0]);
        return Values{b.add(first[0], step)};
      });
}
