//===- Consumer.cpp - the warpgroups that fold ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"
#include "Elements.h"
#include "Finish.h"
#include "MaskOnRows.h"
#include "PartialStates.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Named barriers of the warpgroups from this one on: each keeps one warpgroup together.
static constexpr int64_t kWarpgroupBarrier = 4;

/// Rows of a warpgroup's fragment that a warp has.
static constexpr int64_t kWarpRows = kHopper.fragmentRows / (kWarpgroup / kWarp);

/// The place of a row that has no result, and no result has.
static constexpr int64_t kNoPlace = std::numeric_limits<int32_t>::max();

namespace {

class ConsumerEmitter {
public:
  ConsumerEmitter(SpaceKernel &kernel, const PipelinedSpace &space, const SharedAllocations &shared,
                  Value warpgroup, Value warp)
      : kernel(kernel), b(kernel.builder()), space(space), shared(shared), warpgroup(warpgroup),
        warpgroupRow(b.mul(warpgroup, space.warpgroupRows())), warp(warp),
        laneRows(b.add(b.rowNumbers(), warpgroupRow)),
        laneQueries(b.divide(laneRows, space.groupRows)),
        inGroup(space.packed ? b.remainder(laneRows, space.groupRows) : Value()),
        barrier(b.add(warpgroup, kWarpgroupBarrier)) {
    // A score region sees the scaled score; without one the scale is part of the exponent's. Were
    // it an immediate, ptxas would order the exponentials so that the held-back release of K and
    // the wait behind it come first (742 against 766 TFLOP/s on 16k rows).
    exponent = kernel.hiddenConstant(space.naturalScale() * M_LOG2E);
    if (space.maxParts > 1)
      partials.emplace(kernel, space, warpgroup, warp);
  }
  void emit();

private:
  /// The state of the fold: what a lane holds of each row's maximum and sum, and the accumulator.
  struct State {
    Value output, max, sum;
  };
  struct Tile {
    Request request;
    Value firstRow;
    Value head;  ///< of all rows, or of the lane's where tiles are packed
    Value q;     ///< of the lane's rows
    Value query; ///< fragment, or null
    Value queryTurn;
  };

  Tile readTile(ValueRange note, Value queryTurn);
  Value scores(const Tile &tile, Value turn);
  Value mapScores(const Tile &tile, Value scores, Value firstKey);
  State step(const Tile &tile, ScoreMask &mask, Value turn, Value number, bool masked,
             const State *before);
  Value foldTile(const Tile &tile, ValueRange note, Value turn);
  void finish(const Tile &tile, const State &state, bool isWhole);
  void finishPart(const Tile &tile, ValueRange note, const State &state);
  Value warpHasRows(const Tile &tile);
  Value epilogue(const Tile &tile, Value output);
  void storeOutput(const Tile &tile, Value output, bool byTile);
  Value placesOfRows(const Tile &tile, Value buffer, int64_t unit);
  void storeLse(const Tile &tile, Value lse);
  Value perRow(Value number) {
    Value like = laneRows;
    b.unify(number, like);
    return number;
  }

  SpaceKernel &kernel;
  HopperBuilder &b;
  const PipelinedSpace &space;
  const SharedAllocations &shared;
  Value warpgroup, warpgroupRow, warp;
  Value laneRows;    ///< the lane's rows of the tile
  Value laneQueries; ///< of the tile's query rows
  Value inGroup;     ///< number of the head in its group; null where tiles are not packed
  Value barrier, exponent;
  std::optional<PartialStates> partials;
};

} // namespace

//===----------------------------------------------------------------------===//
// A tile of queries
//===----------------------------------------------------------------------===//

ConsumerEmitter::Tile ConsumerEmitter::readTile(ValueRange note, Value queryTurn) {
  Tile tile;
  tile.request = Request::ofNote(space, note);
  tile.firstRow = note[TileNote::FirstRow];
  tile.head = note[TileNote::Head];
  if (space.packed)
    tile.head = b.add(inGroup, b.mul(tile.head, space.group));
  tile.q = b.add(laneQueries, tile.firstRow);
  tile.queryTurn = queryTurn;
  if (space.queryInRegisters()) {
    auto type = FragmentType::get(b.getContext(), 64, llvm::alignTo(space.kDim, 16), space.element);
    tile.query = LoadFragmentOp::create(b, type, shared.query, queryTurn, warpgroupRow);
    ReleaseOp::create(b, shared.query, queryTurn, Value());
  }
  return tile;
}

//===----------------------------------------------------------------------===//
// One step of the fold
//===----------------------------------------------------------------------===//

Value ConsumerEmitter::scores(const Tile &tile, Value turn) {
  FragmentType type = space.scoreFragment();
  Value flight;
  if (tile.query)
    flight = ContractOp::create(b, type, tile.query, shared.keys, turn, b.getUnitAttr(), Value());
  else
    flight = ContractSharedOp::create(b, type, shared.query, tile.queryTurn, warpgroupRow,
                                      shared.keys, turn, b.getUnitAttr(), Value());
  return WaitContractsOp::create(b, type, flight, 0);
}

/// The score region, on the scaled scores.
Value ConsumerEmitter::mapScores(const Tile &tile, Value scores, Value firstKey) {
  if (!space.score)
    return scores;
  const Request &request = tile.request;
  Value position = b.add(tile.q, b.sub(request.kvLen, request.qLen));
  Values rows{tile.q, position, b.add(tile.q, request.firstToken), perRow(tile.head)};
  Value scale = b.f32(space.scale);
  return mapElements(b, scores, rows, [&](Value score, ValueRange row, Value column) {
    Value scaled = b.mulF(score, scale);
    return emitRegion(
        kernel, *space.score,
        {scaled, row[0], b.add(column, firstKey), row[3], request.number, row[1], row[2]});
  });
}

/// KV tile `number` in the turn's stages. Without a state before it is the first: nothing to
/// rescale, and the only one that may hold rows past the length.
ConsumerEmitter::State ConsumerEmitter::step(const Tile &tile, ScoreMask &mask, Value turn,
                                             Value number, bool masked, const State *before) {
  WaitOp::create(b, shared.keys, turn);
  Value s = scores(tile, turn);
  ReleaseOp::create(b, shared.keys, turn, Value());
  Value firstKey = b.mul(number, space.kvTile);
  s = mapScores(tile, s, firstKey);
  if (masked)
    s = mask.apply(s, firstKey);

  State now;
  now.max = b.quadReduce(ReduceKind::Max, b.rowReduce(ReduceKind::Max, s));
  if (before)
    now.max = b.maxF(now.max, before->max);
  Value offset, factor;
  if (space.score) {
    // The difference first, as exp2Difference has it.
    Value top = b.finiteMax(now.max, now.max);
    s = mapElements(b, s, top,
                    [&](Value score, ValueRange row, Value) { return b.subF(score, row[0]); });
    offset = b.rows(0);
    if (before)
      factor = b.exp2Difference(before->max, top, exponent);
  } else {
    Value top = b.mulF(now.max, exponent);
    offset = b.negF(masked ? b.finiteMax(now.max, top) : top);
    if (before)
      factor = b.approx(ApproxKind::Exp2, b.addF(b.mulF(before->max, exponent), offset));
  }
  Value weights = Exp2Op::create(b, s.getType(), s, exponent, offset);
  now.sum = b.rowReduce(ReduceKind::Sum, weights);
  now.output = before ? before->output : ZeroOp::create(b, space.outputFragment()).getResult();
  if (before) {
    now.sum = b.addF(b.mulF(before->sum, factor), now.sum);
    now.output = ScaleRowsOp::create(b, space.outputFragment(), now.output, factor);
  }
  auto half = FragmentType::get(b.getContext(), 64, space.kvTile, space.element);
  Value rounded = ConvertOp::create(b, half, weights);
  WaitOp::create(b, shared.values, turn);
  if (!before)
    ClearRowsOp::create(b, shared.values, turn, b.sub(tile.request.kvLen, firstKey), barrier);
  FragmentType outputType = space.outputFragment();
  Value flight =
      ContractOp::create(b, outputType, rounded, shared.values, turn, UnitAttr(), now.output);
  now.output = WaitContractsOp::create(b, outputType, flight, 0);
  ReleaseOp::create(b, shared.values, turn, Value());
  return now;
}

/// Returns the turn after the tile's.
Value ConsumerEmitter::foldTile(const Tile &tile, ValueRange note, Value turn) {
  ScoreMask mask(kernel, space, tile.request, tile.q);
  State state = step(tile, mask, turn, note[TileNote::NewestTile], /*masked=*/true, nullptr);
  Values carried{b.add(turn, 1), state.output, state.max, state.sum};
  for (auto [i, masked] : llvm::enumerate(space.rangeIsMasked)) {
    Value begin = note[TileNote::FirstRange + 2 * i], end = note[TileNote::FirstRange + 2 * i + 1];
    bool isMasked = masked;
    carried = b.countDown(b.add(end, -1), begin, carried, [&](Value number, ValueRange now) {
      State before{now[1], now[2], now[3]};
      State after = step(tile, mask, now[0], number, isMasked, &before);
      return Values{b.add(now[0], 1), after.output, after.max, after.sum};
    });
  }
  if (!tile.query)
    ReleaseOp::create(b, shared.query, tile.queryTurn, Value());
  State last{carried[1], carried[2], carried[3]};
  if (space.maxParts == 1) {
    finish(tile, last, /*isWhole=*/true);
  } else {
    Value isWhole = b.equal(note[TileNote::Parts], b.i32(1));
    b.ifThenElse(
        isWhole, {}, [&] { return finish(tile, last, true), Values(); },
        [&] {
          // Of few packed rows most warps have none, and no state that anyone needs.
          auto finishOwn = [&] { finishPart(tile, note, last); };
          space.packed ? b.ifThen(warpHasRows(tile), finishOwn) : finishOwn();
          return Values();
        });
  }
  return carried[0];
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Of a packed tile.
Value ConsumerEmitter::warpHasRows(const Tile &tile) {
  Value first = b.divide(b.add(b.mul(warp, kWarpRows), warpgroupRow), space.groupRows);
  return b.less(b.add(tile.firstRow, first), tile.request.qLen);
}

/// Hands the part's state over; who comes last merges all of them in order and finishes.
void ConsumerEmitter::finishPart(const Tile &tile, ValueRange note, const State &state) {
  Value sum = b.quadReduce(ReduceKind::Sum, state.sum);
  partials->store({state.output, state.max, sum}, note[TileNote::Slot], note[TileNote::Part]);
  Value last = partials->isLast(note[TileNote::Slot], note[TileNote::Parts]);
  b.ifThen(last, [&] {
    PartialStates::State merged =
        partials->merge(note[TileNote::Slot], note[TileNote::Parts], exponent);
    finish(tile, {merged.output, merged.max, merged.sum}, /*isWhole=*/false);
  });
}

/// `isWhole`: the state is that of a warpgroup's fold, whose lanes hold parts of the sums; else of
/// one warp, with whole sums.
void ConsumerEmitter::finish(const Tile &tile, const State &state, bool isWhole) {
  Value sum = isWhole ? b.quadReduce(ReduceKind::Sum, state.sum) : state.sum, sink;
  if (space.sinks)
    sink = perRow(loadOfRows(kernel, space.sinks, tile.head));
  Finished finished = finishState(b, space, state.max, sum, sink);
  Value output = ScaleRowsOp::create(b, space.outputFragment(), state.output, finished.factor);
  storeOutput(tile, epilogue(tile, output), /*byTile=*/isWhole && shared.output);
  if (space.lse)
    storeLse(tile, finished.lse);
}

Value ConsumerEmitter::epilogue(const Tile &tile, Value output) {
  if (!space.epilogue)
    return output;
  const Request &request = tile.request;
  Value position = b.add(tile.q, b.sub(request.kvLen, request.qLen));
  Values rows{tile.q, position, b.add(tile.q, request.firstToken), perRow(tile.head)};
  return mapElements(b, output, rows, [&](Value value, ValueRange row, Value column) {
    return emitRegion(kernel, *space.epilogue, {value, row[0], row[3], column, row[1], row[2]});
  });
}

/// Where the lane's rows of a packed tile lie in units of `unit` elements, which is a divisor of
/// the strides, from the request's first row on: stores take those below kNoPlace. (So few query
/// rows have fewer places than that.)
Value ConsumerEmitter::placesOfRows(const Tile &tile, Value buffer, int64_t unit) {
  auto step = [&](int64_t dim) {
    return b.narrow(b.divide(kernel.stride(buffer, dim), b.i64(unit)));
  };
  Value place = b.add(b.mul(tile.q, step(0)), b.mul(tile.head, step(1)));
  Value exists = b.both(b.less(tile.q, tile.request.qLen), b.less(inGroup, b.i32(space.group)));
  return b.select(exists, place, b.i32(kNoPlace));
}

/// By TMA where all 64 rows are the request's; else each row by itself.
void ConsumerEmitter::storeOutput(const Tile &tile, Value output, bool byTile) {
  Value buffer = space.output;
  auto half = FragmentType::get(b.getContext(), 64, space.vDim, space.element);
  Value rounded = ConvertOp::create(b, half, output);
  Value firstRow = b.add(tile.firstRow, warpgroupRow);
  if (space.packed) {
    constexpr int64_t kUnit = 8; // elements of 16 bytes
    Value start = b.mul(b.widen(tile.request.firstToken), kernel.stride(buffer, 0));
    StoreMatrixOp::create(b, rounded, kernel.vectorPointer(buffer), start, b.i64(kUnit),
                          placesOfRows(tile, buffer, kUnit), b.i32(kNoPlace));
    return;
  }
  auto storeRows = [&] {
    Value tokens = b.widen(tile.request.firstToken), head = b.widen(tile.head);
    Value start =
        b.add(b.mul(tokens, kernel.stride(buffer, 0)), b.mul(head, kernel.stride(buffer, 1)));
    StoreMatrixOp::create(b, rounded, kernel.vectorPointer(buffer), start, kernel.stride(buffer, 0),
                          tile.q, tile.request.qLen);
    return Values();
  };
  if (!byTile) {
    storeRows();
    return;
  }
  Value map = kernel.rowMap(buffer, space.warpgroupRows());
  auto storeTile = [&] {
    b.singleThread([&] { WaitStoresOp::create(b, b.getUnitAttr()); });
    BarrierSyncOp::create(b, barrier, kWarpgroup);
    StoreFragmentOp::create(b, rounded, shared.output, warpgroup);
    FenceSharedOp::create(b, Value());
    BarrierSyncOp::create(b, barrier, kWarpgroup);
    b.singleThread([&] {
      Value token = b.add(tile.request.firstToken, firstRow);
      for (std::optional<int64_t> panel : SpaceKernel::rowBoxes(buffer))
        StoreTileOp::create(b, shared.output, warpgroup, b.panelAttr(panel), map,
                            kernel.rowPlace(buffer, panel.value_or(0), token, tile.head));
    });
    return Values();
  };
  Value all = b.compare(arith::CmpIPredicate::sle, b.add(firstRow, space.warpgroupRows()),
                        tile.request.qLen);
  b.ifThenElse(all, {}, storeTile, storeRows);
}

void ConsumerEmitter::storeLse(const Tile &tile, Value lse) {
  Value buffer = space.lse, stride = kernel.stride(buffer, 0);
  Value start = b.mul(b.widen(tile.request.firstToken), stride);
  if (space.packed) {
    StoreRowsOp::create(b, lse, kernel.pointer(buffer), start, Value(),
                        placesOfRows(tile, buffer, /*unit=*/1), b.i32(kNoPlace));
    return;
  }
  start = b.add(start, b.mul(b.widen(tile.head), kernel.stride(buffer, 1)));
  StoreRowsOp::create(b, lse, kernel.pointer(buffer), start, stride, tile.q, tile.request.qLen);
}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

void ConsumerEmitter::emit() {
  forEachNote(b, shared.query, [&](Value turn, Value queryTurn, ValueRange note) {
    return foldTile(readTile(note, queryTurn), note, turn);
  });
  if (shared.output)
    b.singleThread([&] { WaitStoresOp::create(b, UnitAttr()); });
}

void pagefold::hopper::emitConsumer(SpaceKernel &kernel, const PipelinedSpace &space,
                                    const SharedAllocations &shared, Value warpgroup, Value warp) {
  ConsumerEmitter(kernel, space, shared, warpgroup, warp).emit();
}
