//===- Producer.cpp - the warp that brings tiles to shared memory ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Producer.h"
#include "KVSource.h"
#include "MaskOnRows.h"
#include "TileOrder.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

namespace {

class ProducerEmitter {
public:
  ProducerEmitter(SpaceKernel &kernel, const PipelinedSpace &space,
                  const SharedAllocations &shared, bool sections)
      : kernel(kernel), b(kernel.builder()), space(space), shared(shared),
        requests(kernel, space), order(kernel, space, requests, sections),
        source(KVSource::create(kernel, space)), queryMap(makeQueryMap()) {}
  void emit();

private:
  /// The KV tiles of one query tile: the newest, then the ranges of the others, newest first.
  struct Visits {
    Value newest;
    SmallVector<std::pair<Value, Value>> ranges; ///< begin, end
  };

  Value makeQueryMap();
  Visits visitsOf(const QueryTile &tile, Value firstRow);
  void bringQueries(const QueryTile &tile, Value firstRow, const Visits &visits, Value turn);
  Values bringFirst(const QueryTile &tile, const Visits &visits, Value turn, Value queryTurn);
  Value bringOthers(const QueryTile &tile, const Visits &visits, Value turn, ValueRange found);
  Values bringTile(const QueryTile &tile, Value turn, Value queryTurn,
                   llvm::function_ref<void()> findNext);
  Value firstRowOf(const QueryTile &tile) { return b.mul(tile.block, space.queriesPerTile()); }
  Value kvHeadOf(const QueryTile &tile) {
    return space.packed ? tile.head : b.divide(tile.head, space.group);
  }
  Value isFirstLane() { return b.equal(b.lane(), b.i32(0)); }
  /// On one lane, where not one alone is at work anyway.
  void onOneLane(llvm::function_ref<void()> body) {
    source->usesOneLane() ? body() : b.ifThen(isFirstLane(), body);
  }

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  const SharedAllocations &shared;
  RequestReader requests;
  TileOrder order;
  std::unique_ptr<KVSource> source;
  Value queryMap;
};

} // namespace

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// [tokens, heads, k_dim]: a box is the rows of one head, or of a group's heads.
Value ProducerEmitter::makeQueryMap() {
  int64_t panels = panelsOf(space.kDim), rows = space.queriesPerTile();
  bool whole = isWholePanels(space.kDim);
  SmallVector<int64_t> box{64};
  SmallVector<MapDim> dims{MapDim::inner(whole ? 64 : space.kDim)};
  if (space.packed) {
    box.append({space.group, rows});
    dims.append({MapDim::whole(1), MapDim::whole(0)});
  } else {
    box.append({rows, 1});
    dims.append({MapDim::whole(0), MapDim::whole(1)});
  }
  if (whole) {
    box.insert(box.end() - (space.packed ? 0 : 1), panels);
    dims.insert(dims.end() - (space.packed ? 0 : 1), MapDim::fixed(panels, kHopper.swizzleBytes));
  }
  return kernel.map(space.query, box, dims);
}

void ProducerEmitter::bringQueries(const QueryTile &tile, Value firstRow, const Visits &visits,
                                   Value turn) {
  AcquireOp::create(b, shared.query, turn);
  Values note(TileNote::Words, b.i32(0));
  note[TileNote::FirstRow] = firstRow;
  note[TileNote::Head] = tile.head;
  note[TileNote::Request] = tile.request.number;
  note[TileNote::FirstToken] = tile.request.firstToken;
  note[TileNote::QLen] = tile.request.qLen;
  note[TileNote::KVLen] = tile.request.kvLen;
  note[TileNote::NewestTile] = visits.newest;
  for (auto [i, range] : llvm::enumerate(visits.ranges)) {
    note[TileNote::FirstRange + 2 * i] = range.first;
    note[TileNote::FirstRange + 2 * i + 1] = range.second;
  }
  Value token = b.add(tile.request.firstToken, firstRow), zero = b.i32(0);
  Value head = space.packed ? b.mul(tile.head, space.group) : tile.head;
  auto at = [&](Value column) {
    return space.packed ? Values{column, head, token} : Values{column, token, head};
  };
  onOneLane([&] {
    WriteNoteOp::create(b, shared.query, turn, note);
    ExpectOp::create(b, shared.query, turn);
    if (isWholePanels(space.kDim)) {
      Values place = at(zero);
      place.insert(place.end() - (space.packed ? 0 : 1), zero);
      FillOp::create(b, shared.query, turn, IntegerAttr(), Value(), queryMap, place, UnitAttr());
      return;
    }
    for (int64_t panel = 0; panel < panelsOf(space.kDim); ++panel)
      FillOp::create(b, shared.query, turn, b.getI64IntegerAttr(panel), Value(), queryMap,
                     at(b.i32(panel * 64)), UnitAttr());
  });
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

ProducerEmitter::Visits ProducerEmitter::visitsOf(const QueryTile &tile, Value firstRow) {
  Value qlo = firstRow, zero = b.i32(0);
  Value qhi = b.add(b.min(b.add(qlo, space.queriesPerTile()), tile.request.qLen), -1);
  MaskValues values(kernel, space, tile.request);
  SmallVector<VisitRange> ranges =
      emitVisits(b, b.getLoc(), space.bounds, values.context(qlo, qhi));
  Visits visits{zero, {}};
  Value oldest;
  for (const VisitRange &range : ranges) {
    Value some = b.less(range.begin, range.end);
    visits.newest = b.select(some, b.add(range.end, -1), visits.newest);
    if (!space.hull)
      continue;
    Value begin = b.select(some, range.begin, b.i32(std::numeric_limits<int32_t>::max()));
    oldest = oldest ? b.min(oldest, begin) : begin;
  }
  if (space.hull) {
    visits.ranges.push_back({oldest, visits.newest});
    return visits;
  }
  // The newest tile is walked first, by itself.
  for (const VisitRange &range : llvm::reverse(ranges))
    visits.ranges.push_back({range.begin, b.min(range.end, visits.newest)});
  return visits;
}

//===----------------------------------------------------------------------===//
// A tile of queries
//===----------------------------------------------------------------------===//

/// The newest keys and the queries; returns what was found for the newest tile.
Values ProducerEmitter::bringFirst(const QueryTile &tile, const Visits &visits, Value turn,
                                   Value queryTurn) {
  Values found = source->lookUp(tile.request, visits.newest);
  source->bringKeys(shared.keys, turn, tile.request, kvHeadOf(tile), visits.newest, found);
  bringQueries(tile, firstRowOf(tile), visits, queryTurn);
  return found;
}

/// All other copies of a query tile; returns the turn after it.
Value ProducerEmitter::bringOthers(const QueryTile &tile, const Visits &visits, Value turn,
                                   ValueRange foundFirst) {
  const Request &request = tile.request;
  Value kvHead = kvHeadOf(tile);
  // Carried: the turn and tile whose values come next, and what was found for them.
  Values state{turn, visits.newest};
  state.append(foundFirst.begin(), foundFirst.end());
  size_t lookUps = foundFirst.size();
  for (auto [begin, end] : visits.ranges) {
    Value first = b.add(end, -1);
    Values carried = state;
    carried.append(source->lookUp(request, first));
    Values last = b.countDown(first, begin, carried, [&](Value n, ValueRange now) {
      ValueRange valuesFound = now.slice(2, lookUps), keysFound = now.drop_front(2 + lookUps);
      Values next = source->lookUp(request, b.add(n, -1));
      Value keyTurn = b.add(now[0], 1);
      source->bringKeys(shared.keys, keyTurn, request, kvHead, n, keysFound);
      source->bringValues(shared.values, now[0], request, kvHead, now[1], valuesFound);
      Values results{keyTurn, n};
      results.append(keysFound.begin(), keysFound.end());
      results.append(next);
      return results;
    });
    state.assign(last.begin(), last.begin() + 2 + lookUps);
  }
  source->bringValues(shared.values, state[0], request, kvHead, state[1],
                      ValueRange(state).drop_front(2));
  return b.add(state[0], 1);
}

/// Where one lane is enough it does all in one branch, so that none stands between a stage's
/// release and the copy into it.
Values ProducerEmitter::bringTile(const QueryTile &tile, Value turn, Value queryTurn,
                                  llvm::function_ref<void()> findNext) {
  Visits visits = visitsOf(tile, firstRowOf(tile));
  Value next, zero = b.i32(0);
  if (source->usesOneLane()) {
    b.ifThen(isFirstLane(), [&] { bringFirst(tile, visits, turn, queryTurn); });
    findNext();
    Values ofFirst = b.ifThenElse(
        isFirstLane(), b.getI32Type(), [&] { return Values{bringOthers(tile, visits, turn, {})}; },
        [&] { return Values{zero}; });
    next = b.shuffle(ofFirst[0], zero);
  } else {
    Values found = bringFirst(tile, visits, turn, queryTurn);
    findNext();
    next = bringOthers(tile, visits, turn, found);
  }
  return {next, b.add(queryTurn, 1)};
}

void ProducerEmitter::emit() {
  Value zero = b.i32(0);
  order.forEachTile(
      {zero, zero},
      [&](const QueryTile &tile, ValueRange turns, llvm::function_ref<void()> findNext) {
        return bringTile(tile, turns[0], turns[1], findNext);
      },
      [&](ValueRange turns) {
        b.ifThen(isFirstLane(), [&] {
          AcquireOp::create(b, shared.query, turns[1]);
          WriteNoteOp::create(b, shared.query, turns[1], Values(TileNote::Words, b.i32(-1)));
          ArriveOp::create(b, shared.query, turns[1]);
        });
      });
}

void pagefold::hopper::emitProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                                    const SharedAllocations &shared, bool sections, Value warp) {
  HopperBuilder &b = kernel.builder();
  b.ifThen(b.equal(warp, b.i32(0)), [&] { ProducerEmitter(kernel, space, shared, sections).emit(); });
}
