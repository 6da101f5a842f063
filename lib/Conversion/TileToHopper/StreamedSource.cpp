//===- StreamedSource.cpp - a warp fills its own ring ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedSource.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

Values StreamedSource::State::values() const {
  Values all{some, visit, firstKeys, pages};
  all.append(segment.values());
  return all;
}

StreamedSource::State StreamedSource::State::of(ValueRange values) {
  return {values[0], values[1], values[2], values[3], Segment::of(values.drop_front(4))};
}

StreamedSource::StreamedSource(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                               Value keys, Value values, Value warp)
    : kernel(kernel), b(kernel.builder()), space(space), line(line), warp(warp), lane(b.lane()) {
  tile::PagedOp paged = space.paged;
  tile::DenseOp dense = space.dense;
  if (paged)
    table.emplace(kernel, space);
  this->keys = side(keys, paged ? paged.getKPages() : dense.getKey(), space.kDim);
  this->values = side(values, paged ? paged.getVPages() : dense.getValue(), space.vDim);
  b.ifThen(b.equal(lane, b.i32(0)), [&] {
    PrefetchMapOp::create(b, this->keys.map);
    PrefetchMapOp::create(b, this->values.map);
  });
}

StreamedSource::Side StreamedSource::side(Value ring, Value buffer, int64_t dim) {
  if (space.dense)
    return {ring, buffer, kernel.rowMap(buffer, space.kvTile, /*readOnce=*/true), dim};
  return {ring, buffer, kernel.pageRowMap(buffer, space.kvTile, /*readOnce=*/true), dim};
}

//===----------------------------------------------------------------------===//
// From slice to slice
//===----------------------------------------------------------------------===//

/// The keys and pages of this visit and the 31 behind it.
void StreamedSource::lookUp(State &state) {
  Value own = b.add(state.visit, lane);
  SliceVisits visits(kernel, space, state.segment.request);
  state.firstKeys = b.mul(visits.nth(own), space.kvTile);
  if (!table)
    return;
  Value wanted = b.both(b.less(own, state.segment.end), state.some);
  state.pages = table->find(state.segment.request, state.firstKeys, wanted);
}

Values StreamedSource::start(const Segment &first, Value hasWork) {
  State state{hasWork, first.begin, b.i32(0), b.i32(0), first};
  lookUp(state);
  return state.values();
}

/// To the next slice: of the piece, or of the next piece.
StreamedSource::State StreamedSource::step(const State &state) {
  State next = state;
  next.visit = b.add(state.visit, 1);
  Value ended = b.atLeast(next.visit, state.segment.end);
  Value inBlock = b.remainder(b.sub(next.visit, state.segment.begin), kWarp);
  Value block = b.both(b.equal(inBlock, b.i32(0)), state.some);
  Values current = next.values();
  SmallVector<Type> types(ValueRange(current).getTypes());
  return State::of(b.ifThenElse(
      b.both(b.either(ended, block), state.some), types,
      [&] {
        State moved = next;
        moved.some =
            b.both(next.some, b.either(b.equal(ended, b.boolean(false)),
                                       b.equal(line.isLast(state.segment), b.boolean(false))));
        Values segment = state.segment.values();
        SmallVector<Type> types(ValueRange(segment).getTypes());
        moved.segment = Segment::of(b.ifThenElse(
            b.both(ended, moved.some), types, [&] { return line.next(state.segment).values(); },
            [&] { return segment; }));
        moved.visit = b.select(ended, moved.segment.begin, next.visit);
        lookUp(moved);
        return moved.values();
      },
      [&] { return current; }));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void StreamedSource::fillSide(const Side &side, Value turn, Value head, Value row, Value page) {
  ExpectOp::create(b, side.ring, turn, warp);
  for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(side.buffer)) {
    int64_t number = panel.value_or(0);
    Values place = page ? kernel.pageRowPlace(side.buffer, number, page, row, head)
                        : kernel.rowPlace(side.buffer, number, row, head);
    FillOp::create(b, side.ring, turn, warp, b.panelAttr(panel), Value(), side.map, place,
                   UnitAttr());
  }
}

void StreamedSource::fill(const State &state, Value turn) {
  Value from = b.remainder(b.sub(state.visit, state.segment.begin), kWarp);
  Value key = b.shuffle(state.firstKeys, from), row, page;
  if (table) {
    Value found = b.shuffle(state.pages, from);
    page = table->settle(state.segment.request, found)[0];
    row = space.pageSize == space.kvTile ? b.i32(0) : b.remainder(key, space.pageSize);
  } else {
    row = b.add(state.segment.request.keys, key);
  }
  b.ifThen(b.equal(lane, b.i32(0)), [&] {
    fillSide(keys, turn, state.segment.head, row, page);
    fillSide(values, turn, state.segment.head, row, page);
  });
}

Values StreamedSource::bring(ValueRange values, Value turn) {
  State state = State::of(values);
  SmallVector<Type> types(values.getTypes());
  Values current(values);
  return b.ifThenElse(
      state.some, types,
      [&] {
        fill(state, turn);
        return step(state).values();
      },
      [&] { return current; });
}
