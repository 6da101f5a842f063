//===- Producer.cpp - the warps that bring tiles to shared memory ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "KVSource.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

/// What a producing warp brings: keys, and the queries with them, or values.
enum class Side { Keys, Values };

class ProducerEmitter {
public:
  ProducerEmitter(SpaceKernel &kernel, const PipelinedSpace &space, const SharedAllocations &shared,
                  Side side)
      : kernel(kernel), b(kernel.builder()), space(space), shared(shared), side(side),
        source(KVSource::create(kernel, space)) {
    if (side == Side::Keys)
      queryMap = space.packed ? kernel.headsMap(space.query, space.tileQueries(), space.groupRows)
                              : kernel.rowMap(space.query, space.qTile);
  }
  void emit();

private:
  /// A query tile as the scheduler's note has it.
  struct Tile {
    Request request;
    Value firstRow, head, kvHead, newest;
    ValueRange note;
  };

  Tile readTile(ValueRange note);
  Values queryPlace(const Tile &tile, Value token, int64_t panel);
  void bringQueries(const Tile &tile, Value turn);
  void handOn(Value ring, ValueRange note, Value turn);
  Value bringTile(const Tile &tile, Value turn, Value queryTurn);
  void emitLoop();
  /// On one lane, where not one alone is at work anyway.
  void onOneLane(llvm::function_ref<void()> body) {
    source->usesOneLane() ? body() : b.firstLane(body);
  }

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  const SharedAllocations &shared;
  Side side;
  std::unique_ptr<KVSource> source;
  Value queryMap;
};

} // namespace

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// Coordinates of the box that has the tile's queries.
Values ProducerEmitter::queryPlace(const Tile &tile, Value token, int64_t panel) {
  if (space.packed)
    return kernel.headsPlace(space.query, panel, token, b.mul(tile.kvHead, space.group));
  return kernel.rowPlace(space.query, panel, token, tile.head);
}

void ProducerEmitter::bringQueries(const Tile &tile, Value turn) {
  AcquireOp::create(b, shared.query, turn);
  Value token = b.add(tile.request.firstToken, tile.firstRow);
  onOneLane([&] {
    WriteNoteOp::create(b, shared.query, turn, tile.note);
    ExpectOp::create(b, shared.query, turn);
    for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(space.query))
      FillOp::create(b, shared.query, turn, b.panelAttr(panel), Value(), queryMap,
                     queryPlace(tile, token, panel.value_or(0)), UnitAttr());
  });
}

//===----------------------------------------------------------------------===//
// A tile of queries
//===----------------------------------------------------------------------===//

ProducerEmitter::Tile ProducerEmitter::readTile(ValueRange note) {
  Tile tile;
  tile.request = Request::ofNote(space, note);
  tile.firstRow = note[TileNote::FirstRow];
  tile.head = note[TileNote::Head];
  tile.kvHead = b.divide(tile.head, space.tileHeadsOfKeys());
  tile.newest = note[TileNote::NewestTile];
  tile.note = note;
  return tile;
}

void ProducerEmitter::handOn(Value ring, ValueRange note, Value turn) {
  AcquireOp::create(b, ring, turn);
  onOneLane([&] { handNote(b, ring, turn, note); });
}

/// All copies of this warp's side for a query tile, the newest KV tile first; returns the turn
/// after it.
Value ProducerEmitter::bringTile(const Tile &tile, Value turn, Value queryTurn) {
  auto bring = [&](Value turn, Value number, ValueRange found) {
    if (side == Side::Keys)
      source->bringKeys(shared.keys, turn, tile.request, tile.kvHead, number, found);
    else
      source->bringValues(shared.values, turn, tile.request, tile.kvHead, number, found);
  };
  auto passOn = [&] {
    bringQueries(tile, queryTurn);
    handOn(shared.valueTiles, tile.note, queryTurn);
  };
  if (side == Side::Keys && source->copiesRows())
    passOn();
  bring(turn, tile.newest, source->lookUp(tile.request, tile.newest));
  if (side == Side::Keys && !source->copiesRows())
    passOn();
  Value next = b.add(turn, 1);
  for (size_t i = 0; i < space.rangeIsMasked.size(); ++i) {
    Value begin = tile.note[TileNote::FirstRange + 2 * i];
    Value first = b.add(tile.note[TileNote::FirstRange + 2 * i + 1], -1);
    // Carried: the turn, and what was found for its tile.
    Values carried{next};
    carried.append(source->lookUp(tile.request, first));
    next = b.countDown(first, begin, carried, [&](Value number, ValueRange now) {
      Values results{b.add(now[0], 1)};
      results.append(source->lookUp(tile.request, b.add(number, -1)));
      bring(now[0], number, now.drop_front());
      return results;
    })[0];
  }
  return next;
}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

void ProducerEmitter::emitLoop() {
  onOneLane([&] { // before the first tile is known
    if (side == Side::Keys)
      PrefetchMapOp::create(b, queryMap);
    if (Value map = side == Side::Keys ? source->keyMap() : source->valueMap())
      PrefetchMapOp::create(b, map);
  });
  Value tiles = side == Side::Keys ? shared.tiles : shared.valueTiles;
  Value last = forEachNote(b, tiles, [&](Value turn, Value noteTurn, ValueRange note) {
    if (!source->usesOneLane())
      SyncWarpOp::create(b); // all lanes have read the note
    ReleaseOp::create(b, tiles, noteTurn, Value());
    return bringTile(readTile(note), turn, noteTurn);
  })[1];
  if (side == Side::Keys)
    for (Value ring : {shared.valueTiles, shared.query})
      handOn(ring, endOfNotes(b), last);
}

/// Where one lane is enough all is in one branch, so that none stands between a stage's release and
/// the copy into it.
void ProducerEmitter::emit() {
  if (source->usesOneLane())
    b.firstLane([&] { emitLoop(); });
  else
    emitLoop();
}

void pagefold::hopper::emitKeyProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                                       const SharedAllocations &shared) {
  ProducerEmitter(kernel, space, shared, Side::Keys).emit();
}

void pagefold::hopper::emitValueProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                                         const SharedAllocations &shared) {
  ProducerEmitter(kernel, space, shared, Side::Values).emit();
}
