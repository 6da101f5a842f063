//===- StreamedNewRows.cpp - the rows that a kernel appends ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedNewRows.h"
#include "Elements.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

NewRows::NewRows(SpaceKernel &kernel, const StreamedSpace &space, const Segment &segment,
                 SliceVisits &visits)
    : kernel(kernel), b(kernel.builder()), space(space), segment(segment), table(kernel, space) {
  const Request &request = segment.request;
  old = b.sub(request.kvLen, request.qLen);
  writes = b.equal(segment.end, segment.count);
  Value last = b.mul(visits.nth(b.add(segment.end, -1)), space.kvTile);
  needed = b.either(writes, b.less(old, b.add(last, space.kvTile)));
  tile::AppendOp append = space.append;
  tile::PagedOp paged = space.paged;
  load(append.getKey(), paged.getKPages(), paged.getKScale(), append.getKeyBody());
  load(append.getValue(), paged.getVPages(), paged.getVScale(), append.getValueBody());
}

void NewRows::load(Value source, Value pages, Value scales, Region &body) {
  const Request &request = segment.request;
  int64_t dim = cast<MemRefType>(source.getType()).getShape().back();
  int64_t lanes = newRowLanes(dim, body), tokens = kWarp / lanes;
  Value lane = b.lane();
  Side side{pages, scales, {b.mul(b.remainder(lane, lanes), 2), {}, lanes}, {}};
  for (int64_t offset = 0; offset < dim; offset += 2 * lanes)
    side.layout.offsets.push_back(offset);
  for (int64_t first = 0; first < space.packedRows / space.group; first += tokens) {
    Value row = b.add(b.divide(lane, lanes), first), position = b.add(old, row);
    Value token = b.add(request.firstToken, row);
    Value isRow = b.both(b.less(row, request.qLen), b.atLeast(position, b.i32(0)));
    Value present = b.both(isRow, needed);
    Value start = kernel.rowStart(source, {token, segment.head});
    RowPairs pairs(kernel, side.layout, source, start, present,
                   tile::isIdentity(body) ? nullptr : &body, {token, segment.head, position});
    Value page = table.find(request, position, b.both(present, writes));
    side.rows.push_back({position, present, page, std::move(pairs), {}});
  }
  sides.push_back(std::move(side));
}

Values NewRows::makeWords(Side &side, Rows &rows) {
  rows.pairs.apply();
  if (side.scales)
    rows.pairs.divideBy(loadElement(kernel, side.scales, {segment.head}));
  return rows.pairs.round(space.element);
}

void NewRows::write(const Side &side, const Rows &rows, Value page) {
  Value slot = b.remainder(b.max(rows.position, b.i32(0)), space.pageSize);
  Value start =
      b.add(kernel.rowStart(side.pages, {page, slot, segment.head}), b.widen(side.layout.first));
  Value pointer = kernel.vectorPointer(side.pages, kPairBytes), isPage = b.atLeast(page, b.i32(0));
  for (auto [word, offset] : llvm::zip_equal(rows.words, side.layout.offsets))
    StorePairOp::create(b, word, pointer, b.add(start, b.i64(offset)), isPage);
}

void NewRows::write() {
  auto forRows = [&](llvm::function_ref<void(Side &, Rows &)> body) {
    for (Side &side : sides)
      for (Rows &rows : side.rows)
        body(side, rows);
  };
  Values none;
  forRows([&](Side &side, Rows &) { none.append(side.layout.offsets.size(), b.i32(0)); });
  SmallVector<Type> types(ValueRange(none).getTypes());
  Values words = b.ifThenElse(
      needed, types,
      [&] {
        Values made;
        forRows([&](Side &side, Rows &rows) {
          rows.words = makeWords(side, rows);
          made.append(rows.words);
        });
        forRows([&](Side &side, Rows &rows) {
          auto [page, isBroken] = table.check(rows.page);
          table.report(segment.request, rows.page, isBroken);
          write(side, rows, page);
        });
        return made;
      },
      [&] { return none; });
  ArrayRef<Value> left = words;
  forRows([&](Side &, Rows &rows) {
    size_t count = rows.words.size();
    rows.words = Values(left.take_front(count));
    left = left.drop_front(count);
  });
}

Value NewRows::isInSlice(Value firstKey) { return b.less(old, b.add(firstKey, space.kvTile)); }

void NewRows::release(Value firstKey) { FenceSharedOp::create(b, isInSlice(firstKey)); }

void NewRows::put(Value firstKey, Value turn, const StreamedRings &rings) {
  b.ifThen(isInSlice(firstKey), [&] {
    WaitOp::create(b, rings.keys, turn, rings.warp);
    WaitOp::create(b, rings.values, turn, rings.warp);
    std::array<Value, 2> toFill{rings.keys, rings.values};
    for (auto [side, ring] : llvm::zip_equal(sides, toFill))
      for (const Rows &rows : side.rows) {
        Value row = b.sub(rows.position, firstKey);
        Value inSlice = b.both(b.atLeast(row, b.i32(0)), b.less(row, b.i32(space.kvTile)));
        for (auto [word, offset] : llvm::zip_equal(rows.words, side.layout.offsets))
          PutPairOp::create(b, word, ring, turn, rings.warp, row, b.add(side.layout.first, offset),
                            b.both(inSlice, rows.present));
      }
    SyncWarpOp::create(b);
  });
}
