//===- Scheduler.cpp - the warp that finds query tiles --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "MaskOnRows.h"
#include "TileOrder.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

class SchedulerEmitter {
public:
  SchedulerEmitter(SpaceKernel &kernel, const PipelinedSpace &space,
                   const SharedAllocations &shared, bool sections)
      : kernel(kernel), b(kernel.builder()), space(space), tiles(shared.tiles),
        requests(kernel, space), order(kernel, space, requests, sections) {}
  void emit();

private:
  Values noteOf(const QueryTile &tile);
  void noteVisits(const QueryTile &tile, Value firstRow, Values &note);
  Value takePart(const QueryTile &tile, SmallVectorImpl<VisitRange> &ranges);
  void hand(ValueRange note, Value turn);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  Value tiles;
  RequestReader requests;
  TileOrder order;
};

} // namespace

/// Part p of P takes the tiles numbered [total p / P, total (p + 1) / P) of the list. Returns
/// whether there are any.
Value SchedulerEmitter::takePart(const QueryTile &tile, SmallVectorImpl<VisitRange> &ranges) {
  Value total = b.i32(0), before = b.i32(0);
  for (const VisitRange &range : ranges)
    total = b.add(total, b.sub(range.end, range.begin));
  Value first = b.divide(b.mul(total, tile.part), tile.parts);
  Value end = b.divide(b.mul(total, b.add(tile.part, 1)), tile.parts);
  for (VisitRange &range : ranges) {
    Value size = b.sub(range.end, range.begin), begin = range.begin;
    auto clip = [&](Value number) {
      return b.add(begin, b.max(b.min(b.sub(number, before), size), b.i32(0)));
    };
    range.begin = clip(first);
    range.end = clip(end);
    before = b.add(before, size);
  }
  return b.less(first, end);
}

/// The newest KV tile, which is walked first and by itself, and the ranges of the others, newest
/// first. Where no KV tile is seen the list is tile 0, which the mask hides.
void SchedulerEmitter::noteVisits(const QueryTile &tile, Value firstRow, Values &note) {
  Value zero = b.i32(0), newest = zero, oldest;
  Value end = b.min(b.add(firstRow, space.tileQueries()), tile.request.qLen);
  MaskValues values(kernel, space, tile.request);
  SmallVector<VisitRange> ranges =
      emitVisits(b, b.getLoc(), space.bounds, values.context(firstRow, b.add(end, -1)));
  if (tile.parts) {
    // A part without tiles has no keys: what it then visits is hidden.
    Value some = takePart(tile, ranges);
    note[TileNote::KVLen] = b.select(some, tile.request.kvLen, zero);
    note[TileNote::Part] = tile.part;
    note[TileNote::Parts] = tile.parts;
    note[TileNote::Slot] = tile.slot;
  }
  for (const VisitRange &range : ranges) {
    Value some = b.less(range.begin, range.end);
    newest = b.select(some, b.add(range.end, -1), newest);
    Value begin = b.select(some, range.begin, b.i32(std::numeric_limits<int32_t>::max()));
    oldest = oldest ? b.min(oldest, begin) : begin;
  }
  note[TileNote::NewestTile] = newest;
  auto put = [&](size_t i, Value begin, Value end) {
    note[TileNote::FirstRange + 2 * i] = begin;
    note[TileNote::FirstRange + 2 * i + 1] = end;
  };
  if (space.hull)
    return put(0, oldest, newest);
  for (auto [i, range] : llvm::enumerate(llvm::reverse(ranges)))
    put(i, range.begin, b.min(range.end, newest));
}

Values SchedulerEmitter::noteOf(const QueryTile &tile) {
  Values note(TileNote::Words, b.i32(0));
  Value firstRow = b.mul(tile.block, space.tileQueries());
  note[TileNote::FirstRow] = firstRow;
  note[TileNote::Head] = tile.head;
  tile.request.putInto(note);
  noteVisits(tile, firstRow, note);
  return note;
}

void SchedulerEmitter::hand(ValueRange note, Value turn) {
  b.firstLane([&] { handNote(b, tiles, turn, note); });
}

/// The next ticket is drawn once the producer has taken the note: a CTA holds one tile in advance.
void SchedulerEmitter::emit() {
  Value start = b.i32(0);
  Value turn = order.forEachTile({start}, [&](const QueryTile &tile, ValueRange turns) {
    hand(noteOf(tile), turns[0]);
    Value next = b.add(turns[0], 1);
    AcquireOp::create(b, tiles, next);
    return Values{next};
  })[0];
  hand(endOfNotes(b), turn);
  requests.report();
}

void pagefold::hopper::emitScheduler(SpaceKernel &kernel, const PipelinedSpace &space,
                                     const SharedAllocations &shared, bool sections) {
  SchedulerEmitter(kernel, space, shared, sections).emit();
}
