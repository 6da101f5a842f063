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
  Values all{some, visit, firstKeys};
  all.append(pages);
  all.append(segment.values());
  return all;
}

StreamedSource::State StreamedSource::State::of(ValueRange values, int64_t boxes) {
  return {values[0], values[1], values[2], Values(values.slice(3, boxes)),
          Segment::of(values.drop_front(3 + boxes))};
}

StreamedSource::StreamedSource(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                               Value keys, Value values, Value warp)
    : kernel(kernel), b(kernel.builder()), space(space), line(line),
      boxes(space.kvTile / space.boxKeys()), warp(warp), lane(b.lane()) {
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
    return {ring, buffer, kernel.rowMap(buffer, space.boxKeys(), /*readOnce=*/true), dim};
  return {ring, buffer, kernel.pageRowMap(buffer, space.boxKeys(), /*readOnce=*/true), dim};
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
  for (int64_t box = 0; box < boxes; ++box)
    state.pages[box] =
        table->find(state.segment.request, b.add(state.firstKeys, box * space.boxKeys()), wanted);
}

Values StreamedSource::start(const Segment &first, Value hasWork) {
  State state{hasWork, first.begin, b.i32(0), Values(boxes, b.i32(0)), first};
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
  return stateOf(b.ifThenElse(
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

void StreamedSource::fillSide(const Side &side, Value turn, Value head, const Values &rows,
                              const Values &pages) {
  ExpectOp::create(b, side.ring, turn, warp);
  for (int64_t box = 0; box < boxes; ++box)
    for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(side.buffer)) {
      int64_t number = panel.value_or(0);
      Values place = pages.empty()
                         ? kernel.rowPlace(side.buffer, number, rows[box], head)
                         : kernel.pageRowPlace(side.buffer, number, pages[box], rows[box], head);
      Value row = boxes > 1 ? b.i32(box * space.boxKeys()) : Value();
      FillOp::create(b, side.ring, turn, warp, b.panelAttr(panel), row, side.map, place,
                     UnitAttr());
    }
}

void StreamedSource::fill(const State &state, Value turn, bool ahead) {
  Value from = b.remainder(b.sub(state.visit, state.segment.begin), kWarp);
  Value key = b.shuffle(state.firstKeys, from);
  if (ahead) {
    const Request &request = state.segment.request;
    Value old = b.sub(request.kvLen, request.qLen); // keys that were there before
    b.ifThen(b.less(old, b.add(key, space.kvTile)), [&] { kernel.awaitPrevious(); });
  }
  Values rows, pages;
  for (int64_t box = 0; box < boxes; ++box) {
    Value first = b.add(key, box * space.boxKeys());
    if (!table)
      rows.push_back(b.add(state.segment.request.keys, first));
    else if (space.pageSize == space.boxKeys())
      rows.push_back(b.i32(0));
    else
      rows.push_back(b.remainder(first, space.pageSize));
    if (table)
      pages.push_back(b.shuffle(state.pages[box], from));
  }
  if (table)
    pages = table->settle(state.segment.request, pages);
  b.ifThen(b.equal(lane, b.i32(0)), [&] {
    fillSide(keys, turn, state.segment.head, rows, pages);
    fillSide(values, turn, state.segment.head, rows, pages);
  });
}

Values StreamedSource::bring(ValueRange values, Value turn, bool ahead) {
  State state = stateOf(values);
  SmallVector<Type> types(values.getTypes());
  Values current(values);
  return b.ifThenElse(
      state.some, types,
      [&] {
        fill(state, turn, ahead);
        return step(state).values();
      },
      [&] { return current; });
}
