//===- StreamingKernel.cpp - a space on the streaming schedule ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamingKernel.h"
#include "StreamedCombine.h"
#include "StreamedFold.h"
#include "StreamedSource.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

class WarpEmitter {
public:
  WarpEmitter(SpaceKernel &kernel, const StreamedSpace &space, const StreamedRings &rings,
              const StateAreas &areas)
      : kernel(kernel), b(kernel.builder()), space(space), rings(rings), areas(areas),
        requests(kernel, space), line(kernel, space, requests, rings.warp), lanes(kernel, space) {
    int64_t places = space.maxima.getBatch() * space.kvHeads;
    if (space.fixedPieces)
      packets =
          kernel.workspace(b.getF32Type(), 4 * places * space.fixedPieces * packetFloats(space));
  }
  void emit();

private:
  Values foldPiece(const Segment &segment, Value turn, ValueRange ahead, Value area);
  void foldAll();

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  const StreamedRings &rings;
  const StateAreas &areas;
  RequestReader requests;
  SegmentLine line;
  StreamedLanes lanes;
  std::unique_ptr<StreamedSource> source;
  Value packets; ///< of fixed pieces; null: pieces are merged in shared memory first
};

} // namespace

/// Returns the turn after the piece, and what is known of the next slice to bring.
Values WarpEmitter::foldPiece(const Segment &segment, Value turn, ValueRange ahead, Value area) {
  StreamedPiece piece(kernel, space, lanes, line, segment);
  piece.begin();
  Values carried{segment.begin, turn};
  carried.append(ahead.begin(), ahead.end());
  carried.append(piece.init().values());
  size_t statesAt = 2 + ahead.size();
  Values last = b.whileLoop(
      carried, [&](ValueRange v) { return b.less(v[0], segment.end); },
      [&](ValueRange v) {
        StreamedState state = StreamedState::of(space, v.drop_front(statesAt));
        StreamedState next = piece.step(state, v[0], v[1], rings);
        SyncWarpOp::create(b); // all lanes have read the stage that is filled again
        Values values{b.add(v[0], 1), b.add(v[1], 1)};
        // The slice that takes the stage of this one, in the ring's next round.
        values.append(source->bring(v.slice(2, statesAt - 2), b.add(v[1], space.stages)));
        values.append(next.values());
        return values;
      });
  StreamedState state = StreamedState::of(space, ValueRange(last).drop_front(statesAt));
  if (packets) {
    piece.finishFixed(state, line, packets);
  } else {
    Value whole = b.both(b.equal(segment.begin, b.i32(0)), b.equal(segment.end, segment.count));
    b.ifThenElse(
        whole, {}, [&] { return piece.store(state), Values(); },
        [&] { return piece.leave(state, areas, area), Values(); });
  }
  return Values(ValueRange(last).slice(1, statesAt - 1));
}

void WarpEmitter::foldAll() {
  Segment first = line.first();
  Value some = b.less(first.begin, first.end);
  source = StreamedSource::create(kernel, space, line, rings);
  Values ahead{b.i32(0)};
  ahead.append(source->start(first, some));
  // The ring's first round. Where the kernels before this one only append, old keys can come while
  // they run.
  if (!space.keepsOldKeys)
    kernel.awaitPrevious();
  ahead = b.whileLoop(
      ahead, [&](ValueRange v) { return b.less(v[0], b.i32(space.stages)); },
      [&](ValueRange v) {
        Values next{b.add(v[0], 1)};
        next.append(source->bring(v.drop_front(), v[0], space.keepsOldKeys));
        return next;
      });
  kernel.awaitPrevious();
  // Carried: whether a piece is left, the area that it would take, it, the turn, what is ahead.
  size_t pieceAt = 2, turnAt = pieceAt + first.size();
  Values carried{some, b.mul(rings.warp, 2)};
  carried.append(first.values());
  carried.push_back(b.i32(0));
  carried.append(ahead.begin() + 1, ahead.end());
  b.whileLoop(
      carried, [&](ValueRange v) { return v[0]; },
      [&](ValueRange v) {
        Segment segment = Segment::of(v.slice(pieceAt, turnAt - pieceAt));
        Values after = foldPiece(segment, v[turnAt], v.drop_front(turnAt + 1), v[1]);
        Value more = b.equal(line.isLast(segment), b.boolean(false));
        Values current = segment.values();
        SmallVector<Type> types(ValueRange(current).getTypes());
        Values next{more, b.add(b.mul(rings.warp, 2), 1)};
        next.append(b.ifThenElse(
            more, types, [&] { return line.next(segment).values(); }, [&] { return current; }));
        next.append(after);
        return next;
      });
  if (packets) {
    Value isLeft = b.both(line.beganBefore(first), line.endsHere(first));
    b.ifThen(isLeft, [&] { StreamedPiece(kernel, space, lanes, line, first).mergeFixed(packets); });
  }
}

void WarpEmitter::emit() {
  if (packets) {
    b.ifThen(line.hasPlaces(), [&] { foldAll(); });
  } else {
    emitEmptyAreas(b, areas, rings.warp);
    SyncWarpOp::create(b); // before one of them is filled
    b.ifThen(line.hasPlaces(), [&] { foldAll(); });
    emitStreamedCombine(kernel, space, line, areas, rings.warp);
  }
  kernel.awaitPrevious(); // also where a warp had no work: the grid must not end before
  b.ifThen(b.equal(rings.warp, b.i32(0)), [&] { requests.report(); });
}

void pagefold::hopper::emitStreamingKernel(SpaceKernel &kernel, const StreamedSpace &space) {
  HopperBuilder &b = kernel.builder();
  StreamedRings rings;
  int64_t writers = space.isGathered() ? kWarp : 1; // each lane, or lane 0
  rings.keys = AllocRingOp::create(b, space.keyRing(), /*readers=*/0, writers);
  rings.values = AllocRingOp::create(b, space.valueRing(), 0, writers);
  StateAreas areas(b, space, rings);
  if (space.hasMadeExtents())
    kernel.awaitPrevious();
  int64_t warpgroups = space.warps * kWarp / kWarpgroup;
  auto roles = RolesOp::create(
      b, b.getStrArrayAttr({"stream"}), b.getDenseI64ArrayAttr({warpgroups}),
      b.getDenseI64ArrayAttr({kHopper.launchRegisters(warpgroups * kWarpgroup)}), 1);
  ReturnOp::create(b);
  Block &block = roles.getBodies()[0].emplaceBlock();
  Value warpgroup = block.addArgument(b.getI32Type(), b.getLoc());
  Value warp = block.addArgument(b.getI32Type(), b.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  rings.warp = b.add(b.mul(warpgroup, kWarpgroup / kWarp), warp);
  WarpEmitter(kernel, space, rings, areas).emit();
  EndOp::create(b);
}
