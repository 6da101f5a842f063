//===- StreamedFold.cpp - a warp folds a piece of a segment ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedFold.h"
#include "Elements.h"
#include "Finish.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static constexpr int64_t kColumns = 8; ///< of a result block
static constexpr int64_t kDepth = 16;  ///< of a product, and rows of a block
static constexpr int64_t kHalf = 8;    ///< from a lane's upper row to its lower one
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Values StreamedState::values() const {
  Values all(max);
  all.append(sum);
  for (const Values &blocks : output)
    all.append(blocks);
  return all;
}

StreamedState StreamedState::of(const StreamedSpace &space, ValueRange values) {
  size_t blocks = space.columnBlocks(), steps = space.valueSteps();
  StreamedState state;
  state.max = Values(values.take_front(blocks));
  state.sum = Values(values.slice(blocks, blocks));
  for (size_t block = 0; block < blocks; ++block)
    state.output.push_back(Values(values.slice(2 * blocks + block * steps, steps)));
  return state;
}

StreamedLanes::StreamedLanes(SpaceKernel &kernel, const StreamedSpace &space) {
  HopperBuilder &b = kernel.builder();
  lane = b.lane();
  upper = b.divide(lane, 4);
  column = b.mul(b.remainder(lane, 4), 2);
  for (int64_t block = 0; block < space.columnBlocks(); ++block) {
    Value first = b.add(column, block * kColumns);
    columns.emplace_back(b, space, b.vectorOf({first, b.add(first, 1)}));
    rows.emplace_back(b, space, b.add(upper, block * kColumns));
  }
}

/// Elements of a result block: (upper, first column), (upper, second), (lower, first), (lower,
/// second).
static Value half(HopperBuilder &b, Value block, int64_t i) {
  return b.vectorOf({b.element(block, 2 * i), b.element(block, 2 * i + 1)});
}
Value pagefold::hopper::scaleColumns(HopperBuilder &b, Value block, Value factors) {
  Value first = b.element(factors, 0), second = b.element(factors, 1);
  return b.mulF(block, b.vectorOf({first, second, first, second}));
}
static Value zeroBlock(HopperBuilder &b) {
  Value zero = b.f32(0);
  return b.vectorOf({zero, zero, zero, zero});
}

//===----------------------------------------------------------------------===//
// A piece
//===----------------------------------------------------------------------===//

StreamedPiece::StreamedPiece(SpaceKernel &kernel, const StreamedSpace &space,
                             const StreamedLanes &lanes, SegmentLine &line, const Segment &segment)
    : kernel(kernel), b(kernel.builder()), space(space), lanes(lanes), segment(segment),
      visits(kernel, space, segment.request), results(kernel, space, segment.request, segment.head),
      exponent(kernel.hiddenConstant(space.naturalScale() * M_LOG2E)) {
  for (const PackedRows &columns : lanes.columns)
    masks.emplace_back(kernel, space, segment.request, columns.query);
  for (const PackedRows &row : lanes.rows)
    queries.push_back(loadQueries(row));
  // Now, while the first keys are on their way.
  Value start = line.startOf(segment);
  firstCta = line.ctaOf(start);
  lastCta = line.ctaOf(b.add(start, b.add(segment.count, -1)));
  leads = b.either(b.equal(segment.begin, b.i32(0)), b.equal(segment.at, line.ctaBegin()));
}

/// The lane's row, as right blocks: elements 2 (l mod 4) and the next one of each eight columns.
Values StreamedPiece::loadQueries(const PackedRows &row) {
  Value start = b.add(results.rowStart(space.query, row), b.widen(lanes.column));
  Value exists = results.exists(row), pointer = kernel.pointer(space.query);
  Values blocks;
  for (int64_t step = 0; step < space.keySteps(); ++step) {
    Values pairs;
    for (int64_t first = step * kDepth; first < (step + 1) * kDepth; first += kHalf)
      pairs.push_back(first < space.kDim ? b.loadPair(pointer, b.add(start, b.i64(first)), exists)
                                         : b.i32(0));
    blocks.push_back(b.vectorOf(pairs));
  }
  return blocks;
}

StreamedState StreamedPiece::init() {
  StreamedState state;
  for (size_t block = 0; block < lanes.columns.size(); ++block) {
    state.max.push_back(b.rows(-kInfinity));
    state.sum.push_back(b.rows(0));
    state.output.push_back(Values(space.valueSteps(), zeroBlock(b)));
  }
  return state;
}

//===----------------------------------------------------------------------===//
// One step of the fold
//===----------------------------------------------------------------------===//

/// Two chains of products: one alone would wait for itself.
SmallVector<StreamedPiece::Pairs> StreamedPiece::scores(Value turn, const StreamedRings &rings) {
  SmallVector<std::array<Value, 2>> chains(queries.size(), {zeroBlock(b), zeroBlock(b)});
  for (int64_t step = 0; step < space.keySteps(); ++step) {
    Value keys = b.loadBlock(rings.keys, turn, rings.warp, step * kDepth, /*transposed=*/false);
    for (auto [block, chain] : llvm::enumerate(chains))
      chain[step % 2] = b.contractBlock(keys, queries[block][step], chain[step % 2], space.element);
  }
  SmallVector<Pairs> all;
  for (const std::array<Value, 2> &chain : chains) {
    Value sum = space.keySteps() > 1 ? b.addF(chain[0], chain[1]) : chain[0];
    all.push_back({half(b, sum, 0), half(b, sum, 1)});
  }
  return all;
}

/// The score region, on the scaled scores.
Value StreamedPiece::mapScores(Value scores, size_t block, Value key) {
  Values mapped;
  for (int64_t i : {0, 1}) {
    PackedRows column = lanes.columns[block].element(b, i);
    Value scaled = b.mulF(b.element(scores, i), b.f32(space.scale));
    mapped.push_back(
        emitRegion(kernel, *space.score,
                   {scaled, column.query, key, results.head(column), segment.request.number,
                    results.position(column), results.token(column)}));
  }
  return b.vectorOf(mapped);
}

StreamedPiece::Pairs StreamedPiece::prepare(const Pairs &scores, size_t block, Value firstKey) {
  Pairs prepared;
  for (int64_t i : {0, 1}) {
    Value key = b.add(b.add(firstKey, lanes.upper), i * kHalf);
    Value score = space.score ? mapScores(scores[i], block, key) : scores[i];
    prepared[i] = b.select(masks[block].visible(key), score, b.rows(-kInfinity));
  }
  return prepared;
}

Value StreamedPiece::weigh(const Pairs &scores, Value &max, Value &sum, Value &factor) {
  Value own = b.columnReduce(ReduceKind::Max, b.maxF(scores[0], scores[1]));
  Value newMax = b.maxF(max, own), top = b.finiteMax(newMax, newMax);
  // The difference first, then its product: both are exact where nothing has grown.
  factor = b.exp2Difference(max, top, exponent);
  Value offset = b.negF(b.mulF(top, exponent));
  Values pairs;
  Value total;
  for (Value score : scores) {
    // A region may give any f32, such as the smallest: its product with the exponent's factor would
    // not be finite, the difference to the maximum is.
    Value power =
        space.score ? b.mulF(b.subF(score, top), exponent) : b.fma(score, exponent, offset);
    Value weight = b.approx(ApproxKind::Exp2, power);
    total = total ? b.addF(total, weight) : weight;
    pairs.push_back(b.transposePairs(b.roundPair(weight, space.element)));
  }
  sum = b.addF(b.mulF(sum, factor), total);
  max = newMax;
  return b.vectorOf(pairs);
}

/// Bits of a left block of values whose keys the request has: what lies behind them, perhaps NaN,
/// counts as zeros, since 0 x NaN is NaN.
Value StreamedPiece::presentKeys(Value firstKey) {
  Value left = b.sub(segment.request.kvLen, firstKey);
  Values masks;
  for (int64_t row : {int64_t(0), kHalf}) {
    Value low = b.less(b.add(lanes.column, row), left);
    Value high = b.less(b.add(lanes.column, row + 1), left);
    masks.push_back(b.either(b.select(low, b.i32(0xffff), b.i32(0)),
                             b.select(high, b.i32(-0x10000), b.i32(0))));
  }
  return b.vectorOf({masks[0], masks[0], masks[1], masks[1]});
}

StreamedState StreamedPiece::step(const StreamedState &state, Value visit, Value turn,
                                  const StreamedRings &rings) {
  StreamedState next = state;
  Value firstKey = b.mul(visits.nth(visit), space.kvTile);
  WaitOp::create(b, rings.keys, turn, rings.warp);
  SmallVector<Pairs> all = scores(turn, rings);
  Values weights(all.size()), factors(all.size());
  for (size_t block = 0; block < all.size(); ++block)
    weights[block] = weigh(prepare(all[block], block, firstKey), next.max[block], next.sum[block],
                           factors[block]);
  WaitOp::create(b, rings.values, turn, rings.warp);
  Value present = presentKeys(firstKey);
  for (int64_t step = 0; step < space.valueSteps(); ++step) {
    Value loaded = b.loadBlock(rings.values, turn, rings.warp, step * kDepth, /*transposed=*/true);
    Value values = b.both(loaded, present);
    for (auto [block, output] : llvm::enumerate(next.output))
      output[step] = b.contractBlock(values, weights[block],
                                     scaleColumns(b, output[step], factors[block]), space.element);
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Results of a whole segment
//===----------------------------------------------------------------------===//

/// Blocks are transposed in pairs on their way out: a lane then has neighbouring elements of its
/// row.
void StreamedPiece::store(const StreamedState &state) {
  for (auto [block, output] : llvm::enumerate(state.output)) {
    const PackedRows &columns = lanes.columns[block];
    std::array<PackedRows, 2> column{columns.element(b, 0), columns.element(b, 1)};
    Value sum = b.columnReduce(ReduceKind::Sum, state.sum[block]), sink;
    if (space.sinks)
      sink = b.vectorOf({results.sink(column[0]), results.sink(column[1])});
    Finished finished = finishState(b, space, state.max[block], sum, sink);
    const PackedRows &row = lanes.rows[block];
    Value start = b.add(results.rowStart(space.output, row), b.widen(lanes.column));
    Value exists = results.exists(row), pointer = kernel.pointer(space.output);
    for (auto [step, accumulator] : llvm::enumerate(output)) {
      Value all = scaleColumns(b, accumulator, finished.factor);
      for (int64_t i : {0, 1}) {
        int64_t first = step * kDepth + i * kHalf;
        if (first >= space.vDim)
          continue;
        Value inRow = b.add(lanes.upper, first);
        Value low = results.epilogue(b.element(all, 2 * i), column[0], inRow);
        Value high = results.epilogue(b.element(all, 2 * i + 1), column[1], inRow);
        Value pair = b.transposePairs(b.roundPair(b.vectorOf({low, high}), space.element));
        StorePairOp::create(b, pair, pointer, b.add(start, b.i64(first)), exists);
      }
    }
    if (!space.lse)
      continue;
    Value stores = b.equal(lanes.upper, b.i32(0)); // one of the eight lanes of the column
    for (int64_t i : {0, 1})
      results.storeLse(b.element(finished.lse, i), column[i],
                       b.both(stores, results.exists(column[i])));
  }
}

//===----------------------------------------------------------------------===//
// States of pieces
//===----------------------------------------------------------------------===//

void StreamedPiece::leaveBlock(const StreamedState &state, size_t block, Value words, Value start) {
  Value sum = b.columnReduce(ReduceKind::Sum, state.sum[block]);
  for (int64_t i : {0, 1}) {
    Value column = b.element(lanes.columns[block].packed, i);
    auto leaveColumn = [&] {
      Value row = b.add(start, b.mul(column, space.stateWords()));
      for (auto [step, accumulator] : llvm::enumerate(state.output[block]))
        for (int64_t j : {0, 1}) {
          int64_t first = step * kDepth + j * kHalf;
          if (first < space.vDim)
            StoreWordsOp::create(b, b.element(accumulator, 2 * j + i), words,
                                 b.add(b.add(row, lanes.upper), first));
        }
      b.ifThen(b.equal(lanes.upper, b.i32(0)), [&] {
        Value pair = b.vectorOf({b.element(state.max[block], i), b.element(sum, i)});
        StoreWordsOp::create(b, pair, words, b.add(row, space.vDim));
      });
    };
    int64_t last = (block + 1) * kColumns;
    last <= space.packedRows ? leaveColumn()
                             : b.ifThen(b.less(column, b.i32(space.packedRows)), leaveColumn);
  }
}

void StreamedPiece::leaveNote(const StateAreas &areas, Value area) {
  const Request &request = segment.request;
  Value zero = b.i32(0);
  Values note(PieceNote::Words, zero);
  note[PieceNote::Segment] = b.sub(segment.at, segment.begin);
  note[PieceNote::Leads] = b.select(leads, b.i32(1), zero);
  note[PieceNote::FirstCta] = firstCta;
  note[PieceNote::LastCta] = lastCta;
  note[PieceNote::KVHead] = segment.head;
  note[PieceNote::Request] = request.number;
  note[PieceNote::FirstToken] = request.firstToken;
  note[PieceNote::QLen] = request.qLen;
  note[PieceNote::KVLen] = request.kvLen;
  Value start = areas.noteStart(b, area);
  b.ifThen(b.equal(lanes.lane, zero), [&] {
    for (int64_t i = 0; i < PieceNote::Words; i += 4)
      StoreWordsOp::create(b, b.vectorOf(ValueRange(note).slice(i, 4)), areas.words,
                           b.add(start, i));
  });
}

void StreamedPiece::leave(const StreamedState &state, const StateAreas &areas, Value area) {
  Value start = areas.stateStart(b, area);
  for (size_t block = 0; block < state.output.size(); ++block)
    leaveBlock(state, block, areas.words, start);
  leaveNote(areas, area);
}
