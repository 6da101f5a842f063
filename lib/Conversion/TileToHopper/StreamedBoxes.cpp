//===- StreamedBoxes.cpp - slices as boxes of TMA -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedBoxes.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static int64_t boxesOf(const StreamedSpace &space) { return space.kvTile / space.boxKeys(); }

StreamedBoxes::StreamedBoxes(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                             const StreamedRings &rings)
    : StreamedSource(kernel, space, line, rings, /*block=*/kWarp, /*found=*/1 + boxesOf(space)),
      boxes(boxesOf(space)), keyMap(mapOf(keys)), valueMap(mapOf(values)) {
  b.ifThen(b.equal(lane, b.i32(0)), [&] {
    PrefetchMapOp::create(b, keyMap);
    PrefetchMapOp::create(b, valueMap);
  });
}

Value StreamedBoxes::mapOf(const Side &side) {
  return space.dense ? kernel.rowMap(side.buffer, space.boxKeys(), /*readOnce=*/true)
                     : kernel.pageRowMap(side.buffer, space.boxKeys(), /*readOnce=*/true);
}

void StreamedBoxes::lookUp(State &state, Value) {
  Value own = b.add(state.visit, lane);
  SliceVisits visits(kernel, space, state.segment.request);
  Value firstKey = b.mul(visits.nth(own), space.kvTile);
  state.found[0] = firstKey;
  if (!table)
    return;
  Value wanted = b.both(b.less(own, state.segment.end), state.some);
  for (int64_t box = 0; box < boxes; ++box)
    state.found[1 + box] =
        table->find(state.segment.request, b.add(firstKey, box * space.boxKeys()), wanted);
}

void StreamedBoxes::fillSide(const Side &side, Value map, Value turn, Value head,
                             const Values &rows, const Values &pages) {
  ExpectOp::create(b, side.ring, turn, warp);
  for (int64_t box = 0; box < boxes; ++box)
    for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(side.buffer)) {
      int64_t number = panel.value_or(0);
      Values place = pages.empty()
                         ? kernel.rowPlace(side.buffer, number, rows[box], head)
                         : kernel.pageRowPlace(side.buffer, number, pages[box], rows[box], head);
      Value row = boxes > 1 ? b.i32(box * space.boxKeys()) : Value();
      FillOp::create(b, side.ring, turn, warp, b.panelAttr(panel), row, map, place, UnitAttr());
    }
}

void StreamedBoxes::fill(const State &state, Value turn, bool ahead) {
  Value from = inBlock(state, state.visit);
  Value key = b.shuffle(state.found[0], from);
  if (ahead)
    awaitNewKeys(state, key);
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
      pages.push_back(b.shuffle(state.found[1 + box], from));
  }
  if (table)
    pages = table->settle(state.segment.request, pages);
  b.ifThen(b.equal(lane, b.i32(0)), [&] {
    fillSide(keys, keyMap, turn, state.segment.head, rows, pages);
    fillSide(values, valueMap, turn, state.segment.head, rows, pages);
  });
}
