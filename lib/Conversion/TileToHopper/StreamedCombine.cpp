//===- StreamedCombine.cpp - merging the pieces of segments ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedCombine.h"
#include "Finish.h"
#include "StreamedRowStates.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// The named barrier of all warps.
static constexpr int64_t kAllWarps = 1;

/// Vectors that hopper.collect takes at once.
static constexpr int64_t kMaxCollected = 16;

namespace {

class CombineEmitter {
public:
  CombineEmitter(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                 const StateAreas &areas, Value warp)
      : kernel(kernel), b(kernel.builder()), space(space), line(line), areas(areas),
        rows(kernel, space, areas), warp(warp), lane(b.lane()),
        packet(kVector * (space.laneVectors() + 1)),
        packets(kernel.workspace(b.getF32Type(), kMaxStreams * ctaFloats() * 4)) {}
  void emit();

private:
  /// What is known of a segment whose pieces are merged.
  struct Pieces {
    Value firstCta, lastCta; ///< of those that read it
    Value kvHead;
    Request request;
    /// Of all words of a note.
    static Pieces of(ValueRange note) {
      return {note[PieceNote::FirstCta], note[PieceNote::LastCta], note[PieceNote::KVHead],
              Request{note[PieceNote::Request], note[PieceNote::FirstToken], note[PieceNote::QLen],
                      note[PieceNote::KVLen], Value()}};
    }
    Value exists(HopperBuilder &b, const PackedRows &row) const {
      return b.less(row.query, request.qLen);
    }
  };

  Values loadNote(Value area);
  void handOver(const RowState &state, const Pieces &pieces, Value row);
  SmallVector<RowState> collect(const Pieces &pieces, Value row, Value cta, int64_t count,
                                int64_t stride, Value wanted);
  RowState collectCtas(const RowState &own, const Pieces &pieces, Value row);
  void finish(const RowState &state, const Pieces &pieces, const PackedRows &row);
  // The pieces of all warps.
  void combineRow(const Pieces &pieces, Value members, Value row);
  void combineAll();
  // Where warps read heads: a warp's own pieces, the only ones of their segments in this CTA.
  void combineOwnRows(const Pieces &pieces, Value area, Value firstRow, int64_t count);
  void combineOwn();
  /// A CTA hands over one segment, or one of each head.
  int64_t slots() const { return line.readsHeads() ? space.kvHeads : 1; }
  int64_t ctaFloats() const { return slots() * space.packedRows * kWarp * packet; }
  Value packetOf(Value cta, const Pieces &pieces, Value row) {
    Value slot =
        line.readsHeads() ? b.select(line.readsHeads(), pieces.kvHead, b.i32(0)) : b.i32(0);
    Value lanes = b.mul(b.add(b.mul(slot, space.packedRows), row), kWarp);
    return b.add(b.mul(cta, ctaFloats()), b.mul(b.add(lanes, lane), packet));
  }
  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  SegmentLine &line;
  const StateAreas &areas;
  RowStates rows;
  Value warp, lane;
  int64_t packet; ///< floats of a lane
  Value packets;
  Values notes; ///< lane l has those of area l
};

} // namespace

//===----------------------------------------------------------------------===//
// In shared memory
//===----------------------------------------------------------------------===//

Values CombineEmitter::loadNote(Value area) {
  Value start = areas.noteStart(b, area);
  Values note;
  for (int64_t first = 0; first < PieceNote::Words; first += kVector) {
    auto type = VectorType::get({kVector}, b.getI32Type());
    Value four = LoadWordsOp::create(b, type, areas.words, b.add(start, first));
    for (int64_t i = 0; i < kVector; ++i)
      note.push_back(b.element(four, i));
  }
  return note;
}

//===----------------------------------------------------------------------===//
// Between CTAs
//===----------------------------------------------------------------------===//

void CombineEmitter::handOver(const RowState &state, const Pieces &pieces, Value row) {
  Values vectors = state.output;
  vectors.push_back(b.vectorOf({state.max, state.sum, b.f32(0), b.f32(0)}));
  HandOverOp::create(b, vectors, packets, packetOf(b.cta(), pieces, row));
}

/// `count` packets from that of `cta` and `row` on, `stride` floats from each other; those from
/// `wanted` on are not waited for, and are states without a key.
SmallVector<RowState> CombineEmitter::collect(const Pieces &pieces, Value row, Value cta,
                                              int64_t count, int64_t stride, Value wanted) {
  int64_t vectors = space.laneVectors() + 1;
  SmallVector<Type> types(count * vectors, VectorType::get({kVector}, b.getF32Type()));
  auto collected =
      CollectOp::create(b, types, b.getI64IntegerAttr(count), packets, packetOf(cta, pieces, row),
                        b.getI64IntegerAttr(stride), wanted);
  SmallVector<RowState> states;
  for (int64_t i = 0; i < count; ++i) {
    Values packet(collected.getValues().slice(i * vectors, vectors));
    Value counts = b.less(b.i32(i), wanted), pair = packet.pop_back_val();
    states.push_back(
        {b.select(counts, b.element(pair, 0), b.f32(kNothingSeen)), b.element(pair, 1), packet});
  }
  return states;
}

/// Merges what the CTAs before this have handed over, and then the own.
RowState CombineEmitter::collectCtas(const RowState &own, const Pieces &pieces, Value row) {
  int64_t atOnce = kMaxCollected / (space.laneVectors() + 1);
  Value cta = b.cta();
  Values carried{pieces.firstCta};
  carried.append(rows.noKeys().values());
  Values last = b.whileLoop(
      carried, [&](ValueRange v) { return b.less(v[0], cta); },
      [&](ValueRange v) {
        SmallVector<RowState> states{RowState::of(v.drop_front())};
        llvm::append_range(states,
                           collect(pieces, row, v[0], atOnce, ctaFloats(), b.sub(cta, v[0])));
        Values next{b.add(v[0], atOnce)};
        next.append(rows.merge(states).values());
        return next;
      });
  SmallVector<RowState> both{RowState::of(ValueRange(last).drop_front()), own};
  return rows.merge(both);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void CombineEmitter::finish(const RowState &state, const Pieces &pieces, const PackedRows &row) {
  StreamedResults results(kernel, space, pieces.request, pieces.kvHead);
  Finished finished = finishState(b, space, state.max, state.sum, results.sink(row));
  Value factor = results.scaleValues(finished.factor);
  Value start = results.rowStart(space.output, row),
        pointer = kernel.vectorPointer(space.output, kPairBytes);
  for (auto [i, output] : llvm::enumerate(state.output)) {
    Value first = b.add(b.mul(lane, kVector), i * kSpan), inside = rows.holds(i);
    for (int64_t pair = 0; pair < kVector; pair += 2) {
      Values elements;
      for (int64_t element = pair; element < pair + 2; ++element)
        elements.push_back(results.epilogue(b.mulF(b.element(output, element), factor), row,
                                            b.add(first, element)));
      Value rounded = b.roundPair(b.vectorOf(elements), space.queryElement);
      StorePairOp::create(b, rounded, pointer, b.add(start, b.widen(b.add(first, pair))),
                          inside ? inside : b.boolean(true));
    }
  }
  if (space.lse)
    results.storeLse(finished.lse, row, b.equal(lane, b.i32(0)));
}

//===----------------------------------------------------------------------===//
// Segments of several warps
//===----------------------------------------------------------------------===//

void CombineEmitter::combineRow(const Pieces &pieces, Value members, Value row) {
  RowState own = rows.mergeAreas(members, row);
  auto hand = [&] { return handOver(own, pieces, row), Values(); };
  auto finishHere = [&] {
    Values values = own.values();
    SmallVector<Type> types(ValueRange(values).getTypes());
    Values all = b.ifThenElse(
        b.less(pieces.firstCta, b.cta()), types,
        [&] { return collectCtas(own, pieces, row).values(); }, [&] { return values; });
    finish(RowState::of(all), pieces, PackedRows(b, space, row));
    return Values();
  };
  b.ifThenElse(b.less(b.cta(), pieces.lastCta), {}, hand, finishHere);
}

/// A warp takes rows of all segments in turn; those of segments that are handed over first, since
/// other CTAs wait for them.
void CombineEmitter::combineAll() {
  Value zero = b.i32(0), one = b.i32(1), isArea = b.less(lane, b.i32(areas.count));
  Values notes = loadNote(b.select(isArea, lane, zero)); // lane l has that of area l
  notes[PieceNote::Segment] = b.select(isArea, notes[PieceNote::Segment], b.i32(-1));
  Value some = b.atLeast(notes[PieceNote::Segment], zero);
  Value leads = b.both(some, b.equal(notes[PieceNote::Leads], one));
  Value handed = b.both(leads, b.less(b.cta(), notes[PieceNote::LastCta]));
  Value kept = b.both(leads, b.equal(handed, b.boolean(false)));
  auto scan = [&](Value condition) { return b.warpScan(b.select(condition, one, zero)); };
  Value handedNumber = scan(handed), lastLane = b.i32(kWarp - 1);
  Value keptNumber = b.add(scan(kept), b.shuffle(handedNumber, lastLane));
  Value number = b.select(handed, handedNumber, keptNumber); // from 1 on
  Value items = b.mul(b.shuffle(keptNumber, lastLane), space.packedRows);
  b.whileLoop(
      {warp}, [&](ValueRange v) { return b.less(v[0], items); },
      [&](ValueRange v) {
        Value segment = b.divide(v[0], space.packedRows);
        Value row = b.sub(v[0], b.mul(segment, space.packedRows));
        Value wanted = b.both(leads, b.equal(number, b.add(segment, 1)));
        Value leader = b.warpReduce(ReduceKind::Min, b.select(wanted, lane, lastLane));
        Values note;
        for (Value word : notes)
          note.push_back(b.shuffle(word, leader));
        auto same = [&](PieceNote::Word word) { return b.equal(notes[word], note[word]); };
        Value members = BallotOp::create(b, b.getI32Type(),
                                         b.both(same(PieceNote::Segment), same(PieceNote::KVHead)));
        Pieces pieces = Pieces::of(note);
        // The same in all CTAs of the segment: rows that the request has not are never handed over.
        b.ifThen(pieces.exists(b, PackedRows(b, space, row)),
                 [&] { combineRow(pieces, members, row); });
        return Values{b.add(v[0], space.warps)};
      });
}

//===----------------------------------------------------------------------===//
// Segments of one warp
//===----------------------------------------------------------------------===//

/// Several rows together: each would wait for memory by itself.
void CombineEmitter::combineOwnRows(const Pieces &pieces, Value area, Value firstRow,
                                    int64_t count) {
  SmallVector<RowState> own;
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < count; ++i) {
    Value row = b.add(firstRow, i);
    numbers.push_back(space.packedRows % count ? b.min(row, b.i32(space.packedRows - 1)) : row);
    own.push_back(rows.load(area, numbers.back()));
  }
  auto forExisting = [&](llvm::function_ref<void(int64_t, const PackedRows &)> body) {
    for (int64_t i = 0; i < count; ++i) {
      PackedRows row(b, space, b.add(firstRow, i));
      b.ifThen(pieces.exists(b, row), [&] { body(i, row); });
    }
  };
  auto hand = [&] {
    forExisting([&](int64_t i, const PackedRows &) { handOver(own[i], pieces, numbers[i]); });
    return Values();
  };
  auto finishHere = [&] {
    Value cta = b.cta(), existing = b.sub(b.mul(pieces.request.qLen, space.group), firstRow);
    Values carried{pieces.firstCta};
    for (int64_t i = 0; i < count; ++i)
      carried.append(rows.noKeys().values());
    size_t width = rows.noKeys().values().size();
    auto stateOf = [&](ValueRange v, int64_t i) {
      return RowState::of(v.slice(1 + i * width, width));
    };
    Values last = b.whileLoop(
        carried, [&](ValueRange v) { return b.less(v[0], cta); },
        [&](ValueRange v) {
          SmallVector<RowState> found =
              collect(pieces, firstRow, v[0], count, kWarp * packet, existing);
          Values next{b.add(v[0], 1)};
          for (int64_t i = 0; i < count; ++i) {
            SmallVector<RowState> both{stateOf(v, i), found[i]};
            next.append(rows.merge(both).values());
          }
          return next;
        });
    forExisting([&](int64_t i, const PackedRows &row) {
      SmallVector<RowState> both{stateOf(last, i), own[i]};
      finish(rows.merge(both), pieces, row);
    });
    return Values();
  };
  b.ifThenElse(b.less(b.cta(), pieces.lastCta), {}, hand, finishHere);
}

/// The last piece first: if one is handed over, it is that.
void CombineEmitter::combineOwn() {
  constexpr int64_t kRowsAtOnce = 4;
  int64_t atOnce = std::min(space.packedRows, kRowsAtOnce);
  SyncWarpOp::create(b); // what other lanes have left
  b.whileLoop(
      {b.i32(1)}, [&](ValueRange v) { return b.atLeast(v[0], b.i32(0)); },
      [&](ValueRange v) {
        Value area = b.add(b.mul(warp, 2), v[0]);
        Values note = loadNote(area);
        b.ifThen(b.atLeast(note[PieceNote::Segment], b.i32(0)), [&] {
          Pieces pieces = Pieces::of(note);
          b.whileLoop(
              {b.i32(0)}, [&](ValueRange row) { return b.less(row[0], b.i32(space.packedRows)); },
              [&](ValueRange row) {
                combineOwnRows(pieces, area, row[0], atOnce);
                return Values{b.add(row[0], atOnce)};
              });
        });
        return Values{b.add(v[0], -1)};
      });
}

void CombineEmitter::emit() {
  auto all = [&] {
    BarrierSyncOp::create(b, b.i32(kAllWarps), space.warps * kWarp);
    combineAll();
    return Values();
  };
  if (!line.readsHeads()) {
    all();
    return;
  }
  b.ifThenElse(line.readsHeads(), {}, [&] { return combineOwn(), Values(); }, all);
}

void pagefold::hopper::emitStreamedCombine(SpaceKernel &kernel, const StreamedSpace &space,
                                           SegmentLine &line, const StateAreas &areas, Value warp) {
  CombineEmitter(kernel, space, line, areas, warp).emit();
}

void pagefold::hopper::emitEmptyAreas(HopperBuilder &b, const StateAreas &areas, Value warp) {
  Value lane = b.lane();
  b.ifThen(b.less(lane, b.i32(2)), [&] {
    Value area = b.add(b.mul(warp, 2), lane);
    StoreWordsOp::create(b, b.i32(-1), areas.words, areas.noteStart(b, area));
  });
}
