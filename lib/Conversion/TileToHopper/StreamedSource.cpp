//===- StreamedSource.cpp - a warp fills its own ring ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedBoxes.h"
#include "StreamedGather.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

Values StreamedSource::State::values() const {
  Values all{some, visit};
  all.append(found);
  all.append(segment.values());
  return all;
}

StreamedSource::State StreamedSource::State::of(ValueRange values, int64_t found) {
  return {values[0], values[1], Values(values.slice(2, found)),
          Segment::of(values.drop_front(2 + found))};
}

StreamedSource::StreamedSource(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                               const StreamedRings &rings, int64_t block, int64_t found)
    : kernel(kernel), b(kernel.builder()), space(space), line(line), block(block), found(found),
      warp(rings.warp), lane(b.lane()) {
  tile::PagedOp paged = space.paged;
  tile::DenseOp dense = space.dense;
  if (paged)
    table.emplace(kernel, space);
  keys = {rings.keys, paged ? paged.getKPages() : dense.getKey()};
  values = {rings.values, paged ? paged.getVPages() : dense.getValue()};
}

std::unique_ptr<StreamedSource> StreamedSource::create(SpaceKernel &kernel,
                                                       const StreamedSpace &space,
                                                       SegmentLine &line,
                                                       const StreamedRings &rings) {
  if (space.isGathered())
    return std::make_unique<StreamedGather>(kernel, space, line, rings);
  return std::make_unique<StreamedBoxes>(kernel, space, line, rings);
}

//===----------------------------------------------------------------------===//
// From slice to slice
//===----------------------------------------------------------------------===//

Value StreamedSource::inBlock(const State &state, Value visit) {
  return b.remainder(b.sub(visit, state.segment.begin), block);
}

Values StreamedSource::start(const Segment &first, Value hasWork) {
  State state{hasWork, first.begin, Values(found, b.i32(0)), first};
  lookUp(state, Value());
  return state.values();
}

/// To the next slice: of the piece, or of the next piece.
StreamedSource::State StreamedSource::step(const State &state) {
  State next = state;
  next.visit = b.add(state.visit, 1);
  Value ended = b.atLeast(next.visit, state.segment.end);
  Value another = b.both(b.equal(inBlock(state, next.visit), b.i32(0)), state.some);
  Values current = next.values();
  SmallVector<Type> types(ValueRange(current).getTypes());
  return stateOf(b.ifThenElse(
      b.both(b.either(ended, another), state.some), types,
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
        lookUp(moved, ended);
        return moved.values();
      },
      [&] { return current; }));
}

void StreamedSource::awaitNewKeys(const State &state, Value key) {
  const Request &request = state.segment.request;
  Value old = b.sub(request.kvLen, request.qLen); // keys that were there before
  b.ifThen(b.less(old, b.add(key, space.kvTile)), [&] { kernel.awaitPrevious(); });
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
