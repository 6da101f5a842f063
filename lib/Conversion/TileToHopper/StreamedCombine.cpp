//===- StreamedCombine.cpp - merging the pieces of segments ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedCombine.h"
#include "Finish.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Elements of a lane's vector, and a vector of all lanes.
static constexpr int64_t kVector = 4, kSpan = kVector * kWarp;
/// Vectors that hopper.collect takes at once.
static constexpr int64_t kMaxCollected = 16;

namespace {

/// A packed row of a state: its maximum and sum, in all lanes, and what the lane has of its
/// accumulator.
struct RowState {
  Value max, sum;
  Values output;

  Values values() const {
    Values all{max, sum};
    all.append(output);
    return all;
  }
  static RowState of(ValueRange values) {
    return {values[0], values[1], Values(values.drop_front(2))};
  }
};

class CombineEmitter {
public:
  CombineEmitter(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                 const StateAreas &areas, Value warp)
      : kernel(kernel), b(kernel.builder()), space(space), line(line), areas(areas), warp(warp),
        lane(b.lane()), exponent(kernel.hiddenConstant(space.naturalScale() * M_LOG2E)),
        packet(kVector * (space.laneVectors() + 1)),
        packets(kernel.workspace(b.getF32Type(), kMaxStreams * ctaFloats() * 4)) {}
  void emit();

private:
  /// The pieces of one segment in this CTA.
  struct Pieces {
    Value members; ///< areas, a bit each
    Value segment, slices, begun, ended;
    Request request;
    Value kvHead;
  };

  Pieces findPieces(Value leader);
  RowState loadRow(Value area, Value row);
  RowState merge(const SmallVectorImpl<RowState> &states);
  RowState mergeAreas(const Pieces &pieces, Value row);
  void handOver(const RowState &state, const Pieces &pieces, Value row);
  RowState collect(const RowState &own, const Pieces &pieces, Value row, Value firstCta);
  void finish(const RowState &state, const Pieces &pieces, const PackedRows &row);
  void combineRow(const Pieces &pieces, Value row);
  /// A CTA hands over one segment, or one of each head.
  int64_t slots() const { return line.readsHeads() ? space.kvHeads : 1; }
  int64_t ctaFloats() const { return slots() * space.packedRows * kWarp * packet; }
  Value packetOf(Value cta, const Pieces &pieces, Value row) {
    Value slot =
        line.readsHeads() ? b.select(line.readsHeads(), pieces.kvHead, b.i32(0)) : b.i32(0);
    Value lanes = b.mul(b.add(b.mul(slot, space.packedRows), row), kWarp);
    return b.add(b.mul(cta, ctaFloats()), b.mul(b.add(lanes, lane), packet));
  }
  /// Whether the lane's vector `i` holds elements of the row.
  Value holds(int64_t i) {
    int64_t first = i * kSpan;
    return first + kSpan <= space.vDim ? Value()
                                       : b.less(b.mul(lane, kVector), b.i32(space.vDim - first));
  }

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  SegmentLine &line;
  const StateAreas &areas;
  Value warp, lane, exponent;
  int64_t packet; ///< floats of a lane
  Value packets;
  Values notes; ///< lane l has those of area l
};

} // namespace

//===----------------------------------------------------------------------===//
// In shared memory
//===----------------------------------------------------------------------===//

CombineEmitter::Pieces CombineEmitter::findPieces(Value leader) {
  auto of = [&](PieceNote::Word word) { return b.shuffle(notes[word], leader); };
  Pieces pieces;
  pieces.segment = of(PieceNote::Segment);
  pieces.slices = of(PieceNote::Slices);
  pieces.kvHead = of(PieceNote::KVHead);
  Value member = b.both(b.equal(notes[PieceNote::Segment], pieces.segment),
                        b.equal(notes[PieceNote::KVHead], pieces.kvHead));
  Value zero = b.i32(0);
  auto any = [&](int64_t flag) {
    Value has =
        b.compare(arith::CmpIPredicate::ne, b.both(notes[PieceNote::Flags], b.i32(flag)), zero);
    Value bits = BallotOp::create(b, b.getI32Type(), b.both(member, has));
    return b.compare(arith::CmpIPredicate::ne, bits, zero);
  };
  pieces.members = BallotOp::create(b, b.getI32Type(), member);
  pieces.begun = any(2);
  pieces.ended = any(4);
  pieces.request = {of(PieceNote::Request), of(PieceNote::FirstToken), of(PieceNote::QLen),
                    of(PieceNote::KVLen), Value()};
  return pieces;
}

RowState CombineEmitter::loadRow(Value area, Value row) {
  Value start = b.add(b.mul(area, space.areaWords()), b.mul(row, space.stateWords()));
  auto load = [&](int64_t count, Value index) {
    return LoadWordsOp::create(b, VectorType::get({count}, b.getF32Type()), areas.words, index);
  };
  Value pair = load(2, b.add(start, space.vDim));
  RowState state{b.element(pair, 0), b.element(pair, 1), {}};
  for (int64_t i = 0; i < space.laneVectors(); ++i) {
    Value first = b.add(b.mul(lane, kVector), i * kSpan);
    // Lanes past the row read what is there, and nobody uses it.
    first = holds(i) ? b.min(first, b.i32(space.vDim - kVector)) : first;
    state.output.push_back(load(kVector, b.add(start, first)));
  }
  return state;
}

/// States without a key, maximum -inf, add nothing, whatever else they hold.
RowState CombineEmitter::merge(const SmallVectorImpl<RowState> &states) {
  Values maxima;
  for (const RowState &state : states)
    maxima.push_back(state.max);
  while (maxima.size() > 1) { // a tree: the shortest chain
    Values halved;
    for (size_t i = 0; i < maxima.size(); i += 2)
      halved.push_back(i + 1 < maxima.size() ? b.maxF(maxima[i], maxima[i + 1]) : maxima[i]);
    maxima = std::move(halved);
  }
  RowState merged{maxima[0], b.f32(0), {}};
  Value top = b.finiteMax(merged.max, merged.max), zero = b.f32(0);
  merged.output.assign(space.laneVectors(), b.vectorOf({zero, zero, zero, zero}));
  for (const RowState &state : states) {
    Value factor = b.approx(ApproxKind::Exp2, b.mulF(b.subF(state.max, top), exponent));
    merged.sum = b.fma(state.sum, factor, merged.sum);
    Value factors = b.vectorOf({factor, factor, factor, factor});
    for (auto [sum, output] : llvm::zip_equal(merged.output, state.output))
      sum = b.fma(output, factors, sum);
  }
  return merged;
}

RowState CombineEmitter::mergeAreas(const Pieces &pieces, Value row) {
  SmallVector<RowState> states;
  for (int64_t area = 0; area < areas.count; ++area) {
    RowState state = loadRow(b.i32(area), row);
    Value bit = b.both(pieces.members, b.i32(int64_t(1) << area));
    Value member = b.compare(arith::CmpIPredicate::ne, bit, b.i32(0));
    state.max = b.select(member, state.max, b.f32(-kInfinity));
    state.sum = b.select(member, state.sum, b.f32(0));
    Value zero = b.f32(0), zeros = b.vectorOf({zero, zero, zero, zero});
    for (Value &output : state.output)
      output = arith::SelectOp::create(b, member, output, zeros);
    states.push_back(std::move(state));
  }
  return merge(states);
}

//===----------------------------------------------------------------------===//
// Between CTAs
//===----------------------------------------------------------------------===//

void CombineEmitter::handOver(const RowState &state, const Pieces &pieces, Value row) {
  Values vectors = state.output;
  vectors.push_back(b.vectorOf({state.max, state.sum, b.f32(0), b.f32(0)}));
  HandOverOp::create(b, vectors, packets, packetOf(b.cta(), pieces, row));
}

/// Merges what the CTAs from `firstCta` to the one before this have handed over, and then the own.
RowState CombineEmitter::collect(const RowState &own, const Pieces &pieces, Value row,
                                 Value firstCta) {
  int64_t vectors = space.laneVectors() + 1, atOnce = kMaxCollected / vectors;
  int64_t stride = ctaFloats();
  SmallVector<Type> types(atOnce * vectors, VectorType::get({kVector}, b.getF32Type()));
  Value cta = b.cta(), zero = b.f32(0);
  RowState none{b.f32(-kInfinity), zero, {}};
  none.output.assign(space.laneVectors(), b.vectorOf({zero, zero, zero, zero}));
  Values carried{firstCta};
  carried.append(none.values());
  Values last = b.whileLoop(
      carried, [&](ValueRange v) { return b.less(v[0], cta); },
      [&](ValueRange v) {
        Value count = b.sub(cta, v[0]);
        auto collected =
            CollectOp::create(b, types, b.getI64IntegerAttr(atOnce), packets,
                              packetOf(v[0], pieces, row), b.getI64IntegerAttr(stride), count);
        SmallVector<RowState> states{RowState::of(v.drop_front())};
        for (int64_t i = 0; i < atOnce; ++i) {
          Values packet(collected.getValues().slice(i * vectors, vectors));
          Value counts = b.less(b.i32(i), count), pair = packet.pop_back_val();
          states.push_back({b.select(counts, b.element(pair, 0), b.f32(-kInfinity)),
                            b.element(pair, 1), packet});
        }
        Values next{b.add(v[0], atOnce)};
        next.append(merge(states).values());
        return next;
      });
  SmallVector<RowState> both{RowState::of(ValueRange(last).drop_front()), own};
  return merge(both);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void CombineEmitter::finish(const RowState &state, const Pieces &pieces, const PackedRows &row) {
  StreamedResults results(kernel, space, pieces.request, pieces.kvHead);
  Finished finished = finishState(b, space, state.max, state.sum, results.sink(row));
  Value start = results.rowStart(space.output, row), pointer = kernel.pointer(space.output);
  for (auto [i, output] : llvm::enumerate(state.output)) {
    Value first = b.add(b.mul(lane, kVector), i * kSpan), inside = holds(i);
    for (int64_t pair = 0; pair < kVector; pair += 2) {
      Values elements;
      for (int64_t element = pair; element < pair + 2; ++element)
        elements.push_back(results.epilogue(b.mulF(b.element(output, element), finished.factor),
                                            row, b.add(first, element)));
      Value rounded = b.roundPair(b.vectorOf(elements), space.element);
      StorePairOp::create(b, rounded, pointer, b.add(start, b.widen(b.add(first, pair))),
                          inside ? inside : b.boolean(true));
    }
  }
  if (space.lse)
    results.storeLse(finished.lse, row, b.equal(lane, b.i32(0)));
}

void CombineEmitter::combineRow(const Pieces &pieces, Value row) {
  Value firstCta = line.ctaOf(pieces.segment);
  Value lastCta = line.ctaOf(b.add(pieces.segment, b.add(pieces.slices, -1))), cta = b.cta();
  RowState own = mergeAreas(pieces, row);
  auto hand = [&] { return handOver(own, pieces, row), Values(); };
  auto finishHere = [&] {
    Values values = own.values();
    SmallVector<Type> types(ValueRange(values).getTypes());
    Values all = b.ifThenElse(
        b.less(firstCta, cta), types, [&] { return collect(own, pieces, row, firstCta).values(); },
        [&] { return values; });
    finish(RowState::of(all), pieces, PackedRows(b, space, row));
    return Values();
  };
  b.ifThenElse(b.less(cta, lastCta), {}, hand, finishHere);
}

//===----------------------------------------------------------------------===//
// All segments
//===----------------------------------------------------------------------===//

/// Segments that are handed over first: other CTAs wait for them.
void CombineEmitter::emit() {
  Value zero = b.i32(0), isArea = b.less(lane, b.i32(areas.count));
  Value area = b.select(isArea, lane, zero);
  Value start = b.add(b.mul(area, PieceNote::Words), areas.firstNote);
  for (int64_t first = 0; first < PieceNote::Words; first += 4) {
    Value four = LoadWordsOp::create(b, VectorType::get({4}, b.getI32Type()), areas.words,
                                     b.add(start, first));
    for (int64_t i = 0; i < 4; ++i)
      notes.push_back(b.element(four, i));
  }
  notes[PieceNote::Segment] = b.select(isArea, notes[PieceNote::Segment], b.i32(-1));
  Value some = b.atLeast(notes[PieceNote::Segment], zero);
  Value leads = b.both(some, b.equal(b.both(notes[PieceNote::Flags], b.i32(1)), b.i32(1)));
  Value last = b.add(notes[PieceNote::Segment], b.add(notes[PieceNote::Slices], -1));
  Value handed = b.both(leads, b.less(b.cta(), line.ctaOf(last)));
  Value own = b.both(leads, b.equal(handed, b.boolean(false)));
  auto scan = [&](Value condition) { return b.warpScan(b.select(condition, b.i32(1), zero)); };
  Value handedNumber = scan(handed), lastLane = b.i32(kWarp - 1);
  Value allHanded = b.shuffle(handedNumber, lastLane), ownNumber = b.add(scan(own), allHanded);
  Value number = b.select(handed, handedNumber, ownNumber); // from 1 on
  Value segments = b.shuffle(ownNumber, lastLane);
  Value items = b.mul(segments, space.packedRows);
  b.whileLoop(
      {warp}, [&](ValueRange v) { return b.less(v[0], items); },
      [&](ValueRange v) {
        Value segment = b.divide(v[0], space.packedRows);
        Value row = b.sub(v[0], b.mul(segment, space.packedRows));
        Value wanted = b.both(leads, b.equal(number, b.add(segment, 1)));
        Value leader = b.warpReduce(ReduceKind::Min, b.select(wanted, lane, b.i32(kWarp - 1)));
        Pieces pieces = findPieces(leader);
        // The same in all CTAs of the segment: rows that the request has not are never handed over.
        PackedRows packed(b, space, row);
        b.ifThen(b.less(packed.query, pieces.request.qLen), [&] { combineRow(pieces, row); });
        return Values{b.add(v[0], space.warps)};
      });
}

void pagefold::hopper::emitStreamedCombine(SpaceKernel &kernel, const StreamedSpace &space,
                                           SegmentLine &line, const StateAreas &areas, Value warp) {
  CombineEmitter(kernel, space, line, areas, warp).emit();
}

void pagefold::hopper::emitEmptyAreas(HopperBuilder &b, const StateAreas &areas, Value warp) {
  Value lane = b.lane();
  b.ifThen(b.less(lane, b.i32(2)), [&] {
    Value area = b.add(b.mul(warp, 2), lane);
    StoreWordsOp::create(b, b.i32(-1), areas.words,
                         b.add(b.mul(area, PieceNote::Words), areas.firstNote));
  });
}
