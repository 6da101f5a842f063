//===- StreamedGather.cpp - slices gathered row by row --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedGather.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Copies that a lane starts together: with two warps a scheduler, shuffles and addresses of one
/// hide behind those of the others.
static constexpr int64_t kCopiesAtOnce = 8;

/// What lookUp() finds: rows of this block of visits, and of the next one.
static constexpr int64_t kNow = 0, kNext = 2, kFound = 4;

StreamedGather::StreamedGather(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                               const StreamedRings &rings)
    : StreamedSource(kernel, space, line, rings, /*block=*/kWarp / space.kvTile, kFound),
      keyRows(kernel, keys.buffer, space.kvTile, kCopiesAtOnce),
      valueRows(kernel, values.buffer, space.kvTile, kCopiesAtOnce) {}

StreamedGather::Row StreamedGather::rowOf(const State &state, Value firstVisit) {
  Value visit = b.add(firstVisit, b.divide(lane, space.kvTile));
  SliceVisits visits(kernel, space, state.segment.request);
  Value key = b.add(b.mul(visits.nth(visit), space.kvTile), b.remainder(lane, space.kvTile));
  Value wanted = b.both(b.less(visit, state.segment.end), state.some);
  return {key, table->find(state.segment.request, key, wanted)};
}

void StreamedGather::lookUp(State &state, Value isNew) {
  auto first = [&] {
    Row row = rowOf(state, state.visit);
    return Values{row.key, row.page};
  };
  Values now =
      isNew ? b.ifThenElse(isNew, {b.getI32Type(), b.getI32Type()}, first,
                           [&] { return Values{state.found[kNext], state.found[kNext + 1]}; })
            : first();
  Row next = rowOf(state, b.add(state.visit, block));
  state.found = {now[0], now[1], next.key, next.page};
}

void StreamedGather::fill(const State &state, Value turn, bool ahead) {
  const Request &request = state.segment.request;
  Row row{state.found[kNow], state.found[kNow + 1]};
  Value firstLane = b.mul(inBlock(state, state.visit), space.kvTile);
  if (ahead)
    awaitNewKeys(state, b.shuffle(row.key, firstLane));
  auto [page, isBroken] = table->check(row.page);
  table->report(request, row.page, isBroken);
  Value slot = b.remainder(row.key, space.pageSize), head = state.segment.head;
  auto fillSide = [&](RowGather &rows, Value ring) {
    rows.copy({ring, turn, warp}, rows.find(page, slot, head), b.i32(0), firstLane);
    ArriveGatheredOp::create(b, ring, turn, warp);
  };
  fillSide(keyRows, keys.ring);
  fillSide(valueRows, values.ring);
}
