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

static constexpr int64_t kColumns = 8;    ///< of a result block
static constexpr int64_t kDepth = 16;     ///< of a product, and rows of a block
static constexpr int64_t kHalf = 8;       ///< from a lane's upper row to its lower one
static constexpr int64_t kQueryLanes = 4; ///< that share a row
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

StreamedLanes::StreamedLanes(SpaceKernel &kernel, const StreamedSpace &space)
    : isBytes(space.isBytes()) {
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
  // Now, while the first keys are on their way.
  firstCta = line.ctaOf(segment, b.i32(0));
  lastCta = line.ctaOf(segment, b.add(segment.count, -1));
  leads = line.leads(segment);
}

/// All loads first: what they bring is worked on once they are under way.
void StreamedPiece::begin() {
  std::vector<RowPairs> pairs;
  for (size_t block = 0; block < lanes.rows.size(); ++block)
    pairs.push_back(loadQueries(block));
  if (space.append)
    newRows.emplace(kernel, space, segment, visits);
  for (RowPairs &own : pairs)
    queries.push_back(takeQueries(own));
  if (newRows)
    newRows->write();
}

/// Of the lane's row: elements 2 (l mod 4) and the next one of each eight, or, in the order of keys
/// of 8 bits, elements 4 (l mod 4) to the third behind it of each sixteen.
RowPairs StreamedPiece::loadQueries(size_t block) {
  const PackedRows &row = lanes.rows[block];
  int64_t laneWidth = space.isBytes() ? 2 : 1, second = space.isBytes() ? 2 : kHalf;
  PairLayout layout{b.mul(lanes.column, laneWidth), {}, kQueryLanes};
  for (int64_t step = 0; step < space.keySteps(); ++step)
    layout.offsets.append({step * kDepth, step * kDepth + second});
  return RowPairs(kernel, layout, space.query, results.rowStart(space.query, row),
                  results.exists(row), space.queryRows,
                  {results.token(row), results.head(row), results.position(row)});
}

Values StreamedPiece::takeQueries(RowPairs &own) {
  own.apply();
  Values pairs = own.round(space.queryElement), blocks;
  if (space.isBytes())
    scoreFactors.push_back(narrowQueries(kernel, space, lanes, segment.head, pairs));
  for (size_t i = 0; i < pairs.size(); i += 2)
    blocks.push_back(b.vectorOf({pairs[i], pairs[i + 1]}));
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

Values StreamedPiece::loadBlocks(Value ring, Value turn, Value warp, int64_t row, int64_t steps,
                                 bool transposed) {
  Values blocks;
  for (int64_t step = 0; step < steps;) {
    Value loaded = b.loadBlock(ring, turn, warp, row, step * kDepth, transposed);
    if (!space.isBytes()) {
      blocks.push_back(loaded);
      ++step;
      continue;
    }
    for (int64_t part = 0; part < 2 && step < steps; ++part, ++step)
      blocks.push_back(b.widenBlock(loaded, part, transposed));
  }
  return blocks;
}

/// Two chains of products: one alone would wait for itself.
SmallVector<Values> StreamedPiece::scores(Value turn, const StreamedRings &rings) {
  SmallVector<Values> all(queries.size());
  for (int64_t row = 0; row < space.kvTile; row += kDepth) {
    SmallVector<std::array<Value, 2>> chains(queries.size(), {zeroBlock(b), zeroBlock(b)});
    Values keys = loadBlocks(rings.keys, turn, rings.warp, row, space.keySteps(), false);
    for (auto [step, key] : llvm::enumerate(keys))
      for (auto [block, chain] : llvm::enumerate(chains))
        chain[step % 2] =
            b.contractBlock(key, queries[block][step], chain[step % 2], space.productElement());
    for (auto [block, chain] : llvm::enumerate(chains)) {
      Value sum = keys.size() > 1 ? b.addF(chain[0], chain[1]) : chain[0];
      if (space.isBytes())
        sum = scaleColumns(b, sum, scoreFactors[block]);
      all[block].append({half(b, sum, 0), half(b, sum, 1)});
    }
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

Values StreamedPiece::prepare(ValueRange scores, size_t block, Value firstKey) {
  Values prepared;
  for (auto [i, pair] : llvm::enumerate(scores)) {
    Value key = b.add(b.add(firstKey, lanes.upper), i * kHalf);
    Value score = space.score ? mapScores(pair, block, key) : pair;
    prepared.push_back(b.select(masks[block].visible(key), score, b.rows(-kInfinity)));
  }
  return prepared;
}

Values StreamedPiece::weigh(ValueRange scores, Value &max, Value &sum, Value &factor) {
  Value own = scores[0];
  for (Value score : scores.drop_front())
    own = b.maxF(own, score);
  Value newMax = b.maxF(max, b.columnReduce(ReduceKind::Max, own));
  Value top = b.finiteMax(newMax, newMax);
  factor = b.exp2Difference(max, top, exponent);
  Value offset = b.negF(b.mulF(top, exponent)), total;
  Values pairs;
  for (Value score : scores) {
    // A region may give any f32, such as the smallest: its product with the exponent's factor would
    // not be finite, the difference to the maximum is.
    Value weight = space.score ? b.exp2Difference(score, top, exponent)
                               : b.approx(ApproxKind::Exp2, b.fma(score, exponent, offset));
    total = total ? b.addF(total, weight) : weight;
    pairs.push_back(b.transposePairs(b.roundPair(weight, space.productElement())));
  }
  sum = b.addF(b.mulF(sum, factor), total);
  max = newMax;
  Values blocks;
  for (size_t i = 0; i < pairs.size(); i += 2)
    blocks.push_back(b.vectorOf({pairs[i], pairs[i + 1]}));
  return blocks;
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
  if (newRows)
    newRows->put(firstKey, turn, rings);
  WaitOp::create(b, rings.keys, turn, rings.warp);
  SmallVector<Values> all = scores(turn, rings), weights;
  Values factors(all.size());
  for (size_t block = 0; block < all.size(); ++block)
    weights.push_back(weigh(prepare(all[block], block, firstKey), next.max[block], next.sum[block],
                            factors[block]));
  WaitOp::create(b, rings.values, turn, rings.warp);
  for (int64_t rows = 0; rows < space.keyBlocks(); ++rows) {
    Value present = presentKeys(b.add(firstKey, rows * kDepth));
    Values loaded = loadBlocks(rings.values, turn, rings.warp, rows * kDepth, space.valueSteps(),
                               /*transposed=*/true);
    for (auto [step, block] : llvm::enumerate(loaded)) {
      Value values = b.both(block, present);
      for (size_t i = 0; i < next.output.size(); ++i) {
        Value &output = next.output[i][step];
        Value before = rows == 0 ? scaleColumns(b, output, factors[i]) : output;
        output = b.contractBlock(values, weights[i][rows], before, space.productElement());
      }
    }
  }
  if (newRows)
    newRows->release(firstKey);
  return next;
}

//===----------------------------------------------------------------------===//
// Results of a whole segment
//===----------------------------------------------------------------------===//

Value StreamedLanes::element(HopperBuilder &b, int64_t step, int64_t i) const {
  return isBytes ? b.add(b.mul(upper, 2), step * kDepth + i)
                 : b.add(upper, step * kDepth + i * kHalf);
}

/// Whether row `i` of the lane's two in the accumulator's block is an element at all: the last
/// block may reach past the head dimension. Either all lanes' rows are or none is.
static bool isElement(const StreamedSpace &space, int64_t step, int64_t i) {
  return step * kDepth + (space.isBytes() ? 0 : i * kHalf) < space.vDim;
}

/// Pairs of neighbours along the head dimension go out. Of keys of 8 bits a lane has them;
/// otherwise blocks are transposed in pairs, so that a lane has neighbours of its row.
void StreamedPiece::storeBlock(Value block, int64_t step, size_t number, Value factor) {
  Value all = scaleColumns(b, block, factor),
        pointer = kernel.vectorPointer(space.output, kPairBytes);
  std::array<PackedRows, 2> column{lanes.columns[number].element(b, 0),
                                   lanes.columns[number].element(b, 1)};
  auto finished = [&](int64_t i, int64_t j) { // of the lane's row i, column j
    return results.epilogue(b.element(all, 2 * i + j), column[j], lanes.element(b, step, i));
  };
  auto pairOf = [&](Value low, Value high) {
    return b.roundPair(b.vectorOf({low, high}), space.queryElement);
  };
  if (space.isBytes()) {
    if (!isElement(space, step, 0))
      return;
    for (int64_t j : {0, 1}) {
      Value start =
          b.add(results.rowStart(space.output, column[j]), b.widen(lanes.element(b, step, 0)));
      StorePairOp::create(b, pairOf(finished(0, j), finished(1, j)), pointer, start,
                          results.exists(column[j]));
    }
    return;
  }
  const PackedRows &row = lanes.rows[number];
  Value start = b.add(results.rowStart(space.output, row), b.widen(lanes.column));
  for (int64_t i : {0, 1})
    if (isElement(space, step, i))
      StorePairOp::create(b, b.transposePairs(pairOf(finished(i, 0), finished(i, 1))), pointer,
                          b.add(start, b.i64(step * kDepth + i * kHalf)), results.exists(row));
}

void StreamedPiece::store(const StreamedState &state) {
  for (auto [block, output] : llvm::enumerate(state.output)) {
    const PackedRows &columns = lanes.columns[block];
    std::array<PackedRows, 2> column{columns.element(b, 0), columns.element(b, 1)};
    Value sum = b.columnReduce(ReduceKind::Sum, state.sum[block]), sink;
    if (space.sinks)
      sink = b.vectorOf({results.sink(column[0]), results.sink(column[1])});
    Finished finished = finishState(b, space, state.max[block], sum, sink);
    Value factor = results.scaleValues(finished.factor);
    for (auto [step, accumulator] : llvm::enumerate(output))
      storeBlock(accumulator, step, block, factor);
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
      // One address and distances from it: LLVM would keep the lane's part of each over the fold.
      Value first = b.add(row, lanes.element(b, 0, 0));
      int64_t toSecond = space.isBytes() ? 1 : kHalf;
      for (auto [step, accumulator] : llvm::enumerate(state.output[block]))
        for (int64_t j : {0, 1}) {
          if (isElement(space, step, j))
            StoreWordsOp::create(b, b.element(accumulator, 2 * j + i), words,
                                 b.add(first, step * kDepth + j * toSecond));
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
  note[PieceNote::Segment] = segment.at;
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
