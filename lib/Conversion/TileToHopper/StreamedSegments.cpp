//===- StreamedSegments.cpp - who reads which keys ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedSegments.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

SliceVisits::SliceVisits(SpaceKernel &kernel, const FoldSpace &space, const Request &request,
                         Value valid)
    : b(kernel.builder()) {
  MaskValues values(kernel, space, request, valid);
  VisitContext context = values.context(b.i32(0), b.add(request.qLen, -1));
  ranges = emitVisits(b, b.getLoc(), space.bounds, context);
  if (!space.hull)
    return;
  VisitRange all{Value(), Value(), VisitKind::Partial};
  for (const VisitRange &range : ranges) {
    Value some = b.less(range.begin, range.end), none = b.i32(std::numeric_limits<int32_t>::max());
    Value begin = b.select(some, range.begin, none), end = b.select(some, range.end, b.i32(0));
    all.begin = all.begin ? b.min(all.begin, begin) : begin;
    all.end = all.end ? b.max(all.end, end) : end;
  }
  all.begin = b.min(all.begin, all.end);
  ranges = {all};
}

Value SliceVisits::count(const Request &request) {
  Value total = b.i32(0);
  for (const VisitRange &range : ranges)
    total = b.add(total, b.sub(range.end, range.begin));
  // With no key to see one slice is visited, and hidden by the mask.
  return b.select(b.less(b.i32(0), request.qLen), b.max(total, b.i32(1)), b.i32(0));
}

Value SliceVisits::nth(Value i) {
  Value before = b.i32(0), slice;
  for (const VisitRange &range : ranges) {
    Value here = b.add(range.begin, b.sub(i, before));
    slice = slice ? b.select(b.atLeast(i, before), here, slice) : here;
    before = b.add(before, b.sub(range.end, range.begin));
  }
  // Where nothing is visited a range may say anything: not a slice before the first, whose values
  // are another request's.
  return b.max(slice, b.i32(0));
}

//===----------------------------------------------------------------------===//
// Values of loops
//===----------------------------------------------------------------------===//

Values Segment::values() const {
  Values all{at, begin, end, count, head, request.number};
  all.append(request.fields());
  all.append({chunk, lane, counts, requests.number});
  all.append(requests.fields());
  return all;
}

Segment Segment::of(ValueRange values) {
  size_t fields = (values.size() - 10) / 2;
  Segment segment{values[0], values[1], values[2], values[3], values[4], {}, {}, {}, {}, {}};
  segment.request = Request::of(values[5], values.slice(6, fields));
  ValueRange rest = values.drop_front(6 + fields);
  segment.chunk = rest[0];
  segment.lane = rest[1];
  segment.counts = rest[2];
  segment.requests = Request::of(rest[3], rest.drop_front(4));
  return segment;
}

Values SegmentLine::Chunk::values() const {
  Values all{number, counts, requests.number};
  all.append(requests.fields());
  return all;
}

SegmentLine::Chunk SegmentLine::Chunk::of(ValueRange values) {
  return {values[0], Request::of(values[2], values.drop_front(3)), values[1]};
}

//===----------------------------------------------------------------------===//
// The line
//===----------------------------------------------------------------------===//

Value pagefold::hopper::pieceOf(HopperBuilder &b, const StreamedSpace &space, Value count) {
  return b.max(b.ceilDivide(count, space.fixedPieces), b.i32(kMinPieceSlices));
}

SegmentLine::Chunk SegmentLine::checkChunk(Value number, ValueRange loaded) {
  Chunk chunk{number, requests.check(number, loaded), {}};
  // Of an empty batch, or one without tokens, what the mask is bound to may be a null pointer.
  Value hasRows = b.less(b.i32(0), chunk.requests.qLen);
  chunk.counts = SliceVisits(kernel, space, chunk.requests, hasRows).count(chunk.requests);
  return chunk;
}

/// Chunks whose loads are under way together while all are counted.
static constexpr int64_t kChunksAtOnce = 4;
/// Warps read heads where a request takes at most so many CTAs and each has so many slices of a
/// head, and segments have at most so many packed rows: each of a warp's pieces is merged by
/// itself.
static constexpr int64_t kMostCtas = 5, kManySlices = 24, kMostRows = 4;
/// Places of a segment beside those of its slices, where there are so many slices for each warp and
/// the longest segment is so many times as long as segments are on average.
static constexpr int64_t kSegmentPlaces = 2, kSlicesOfWarp = 8, kUneven = 2;

SegmentLine::SegmentLine(SpaceKernel &kernel, const StreamedSpace &space, RequestReader &requests,
                         Value warp)
    : kernel(kernel), b(kernel.builder()), space(space), requests(requests),
      oneChunk(requests.maxChunks() == 1), lane(b.lane()), warp(warp) {
  firstChunk = readChunk(b.i32(0));
  firstSum = sum(firstChunk);
  chunks = b.ceilDivide(requests.batchSize(), kWarp);
  auto [counts, most] = countAll();
  firstScan = scan(firstChunk); // beside the divisions of share()
  auto [slices, segments] = counts;
  auto product = [&](Value x, Value y) { return b.mul(b.widen(x), b.widen(y)); };
  headsInLine = b.i32(space.kvHeads);
  assert(llvm::isPowerOf2_64(space.warps));
  // Warps of a CTA that has few slices have equally many.
  unitBits = b.i32(llvm::Log2_64(space.warps));
  Value ctas = b.min(b.ctas(), b.i32(kMaxStreams));
  if (space.kvHeads == space.warps && space.packedRows <= kMostRows) {
    // Segments of few CTAs each, and many slices for each of them.
    headPerWarp = b.both(b.atLeast(product(slices, b.i32(kMostCtas)), product(most, ctas)),
                         b.atLeast(slices, b.mul(ctas, kManySlices)));
    headsInLine = b.select(headPerWarp, b.i32(1), headsInLine);
    unitBits = b.select(headPerWarp, b.i32(0), unitBits);
  }
  Value isMuch = b.atLeast(b.mul(slices, space.kvHeads), b.mul(ctas, space.warps * kSlicesOfWarp));
  Value isUneven =
      b.both(isMuch, b.atLeast(product(most, segments), product(slices, b.i32(kUneven))));
  segmentPlaces = b.select(isUneven, b.i32(kSegmentPlaces), b.i32(0));
  unitBits = b.select(isUneven, b.i32(0), unitBits);
  total = placesOf(counts);
  share(ctas);
}

SegmentLine::Counts SegmentLine::scan(const Chunk &chunk) {
  return {b.warpScan(chunk.counts), b.warpScan(isSegment(chunk))};
}
SegmentLine::Counts SegmentLine::sum(const Chunk &chunk) {
  return {b.warpReduce(ReduceKind::Sum, chunk.counts),
          b.warpReduce(ReduceKind::Sum, isSegment(chunk))};
}

std::pair<SegmentLine::Counts, Value> SegmentLine::countAll() {
  Value zero = b.i32(0), most = b.warpReduce(ReduceKind::Max, firstChunk.counts);
  if (oneChunk)
    return {firstSum, most};
  // The checks stand there once, for they are long: of the chunks loaded the next one is selected.
  Values all = b.whileLoop(
      {b.i32(1), firstSum.slices, most, firstSum.segments},
      [&](ValueRange v) { return b.less(v[0], chunks); },
      [&](ValueRange v) {
        SmallVector<Values> loaded;
        for (int64_t i = 0; i < kChunksAtOnce; ++i)
          loaded.push_back(requests.load(b.add(v[0], i)));
        Value end = b.min(b.add(v[0], kChunksAtOnce), chunks);
        Values counted = b.whileLoop(
            {v[0], zero, zero, zero}, [&](ValueRange w) { return b.less(w[0], end); },
            [&](ValueRange w) {
              Values next = loaded.front();
              for (int64_t i = 1; i < kChunksAtOnce; ++i) {
                Value isNext = b.equal(w[0], b.add(v[0], i));
                for (auto [value, other] : llvm::zip_equal(next, loaded[i]))
                  value = b.select(isNext, other, value);
              }
              Chunk chunk = checkChunk(w[0], next);
              return Values{b.add(w[0], 1), b.add(w[1], chunk.counts), b.max(w[2], chunk.counts),
                            b.add(w[3], isSegment(chunk))};
            });
        return Values{counted[0], b.add(v[1], b.warpReduce(ReduceKind::Sum, counted[1])),
                      b.max(v[2], b.warpReduce(ReduceKind::Max, counted[2])),
                      b.add(v[3], b.warpReduce(ReduceKind::Sum, counted[3]))};
      });
  return {{all[1], all[3]}, all[2]};
}

/// Equal parts, the first ones larger by one unit where they do not come out even.
void SegmentLine::share(Value ctas) {
  Value cta = b.cta();
  Value unit = arith::ShLIOp::create(b, b.i32(1), unitBits);
  shares = arith::ShRUIOp::create(b, b.add(total, b.sub(unit, b.i32(1))), unitBits);
  perCta = b.divide(shares, ctas);
  rest = b.sub(shares, b.mul(perCta, ctas));
  begin = startOf(cta);
  Value end = b.select(b.less(cta, ctas), startOf(b.add(cta, 1)), begin);
  Value places = b.sub(end, begin), perWarp = b.divide(places, space.warps);
  Value more = b.sub(places, b.mul(perWarp, space.warps));
  warpBegin = b.add(b.add(begin, b.mul(perWarp, warp)), b.min(warp, more));
  warpEnd = b.add(b.add(warpBegin, perWarp), b.select(b.less(warp, more), b.i32(1), b.i32(0)));
  if (headPerWarp) {
    warpBegin = b.select(headPerWarp, begin, warpBegin);
    warpEnd = b.select(headPerWarp, end, warpEnd);
  }
}

Value SegmentLine::startOf(Value cta) {
  Value units = b.add(b.mul(cta, perCta), b.min(cta, rest));
  return b.min(total, arith::ShLIOp::create(b, units, unitBits));
}

Value SegmentLine::ctaOf(Value place) {
  Value number = arith::ShRUIOp::create(b, place, unitBits), larger = b.add(perCta, 1);
  Value inLarger = b.mul(rest, larger);
  Value behind = b.max(b.sub(number, inLarger), b.i32(0));
  return b.select(b.less(number, inLarger), b.divide(number, larger),
                  b.add(rest, b.divide(behind, b.max(perCta, b.i32(1)))));
}

//===----------------------------------------------------------------------===//
// From slice to segment
//===----------------------------------------------------------------------===//

Value SegmentLine::firstVisit(Value count, Value inSegment) {
  Value visit = b.max(b.sub(inSegment, segmentPlaces), b.i32(0));
  if (space.fixedPieces) {
    Value piece = pieceOf(b, space, count);
    visit = b.mul(b.ceilDivide(visit, piece), piece);
  }
  return b.min(visit, count);
}

void SegmentLine::cut(Segment &piece) {
  piece.end = endOf(piece);
  if (space.fixedPieces)
    piece.end = b.min(piece.end, b.add(piece.begin, pieceOf(b, space, piece.count)));
}

/// a / by, where that is below `limit`. Of few numbers it is found sooner by comparisons: a division
/// takes a hundred cycles, and a warp's first copy waits for it.
static Value quotientBelow(HopperBuilder &b, Value a, Value by, int64_t limit) {
  constexpr int64_t kFew = 16;
  if (limit > kFew)
    return b.divide(a, by);
  Value quotient = b.i32(0), multiple = by;
  for (int64_t i = 1; i < limit; ++i) {
    quotient = b.select(b.atLeast(a, multiple), b.i32(i), quotient);
    multiple = b.mul(by, i + 1);
  }
  return quotient;
}

/// The segment of the request of lane `lane` that holds its place `inRequest`, from there on;
/// `at`: that place in the line.
Segment SegmentLine::enter(const Chunk &chunk, Value lane, Value at, Value inRequest) {
  Segment segment;
  segment.request = requests.broadcast(chunk.requests, chunk.number, lane);
  segment.count = b.max(b.shuffle(chunk.counts, lane), b.i32(1));
  Value places = placesOf(segment.count);
  segment.head = quotientBelow(b, inRequest, places, space.kvHeads);
  Value inSegment = b.sub(inRequest, b.mul(segment.head, places));
  if (headPerWarp)
    segment.head = b.select(headPerWarp, warp, segment.head);
  segment.at = b.sub(at, inSegment);
  segment.begin = firstVisit(segment.count, inSegment);
  cut(segment);
  segment.chunk = chunk.number;
  segment.lane = lane;
  segment.counts = chunk.counts;
  segment.requests = chunk.requests;
  return segment;
}

Segment SegmentLine::first() {
  Chunk chunk = firstChunk;
  Value base = b.i32(0), upTo = placesOf(firstScan);
  if (!oneChunk) {
    Values carried{base, placesOf(firstSum), upTo};
    carried.append(chunk.values());
    Values found = b.whileLoop(
        carried,
        [&](ValueRange v) {
          Chunk now = Chunk::of(v.drop_front(3));
          return b.both(b.atLeast(warpBegin, v[1]), b.less(b.add(now.number, 1), chunks));
        },
        [&](ValueRange v) {
          Chunk next = readChunk(b.add(Chunk::of(v.drop_front(3)).number, 1));
          Values values{v[1], b.add(v[1], placesOf(sum(next))), placesOf(scan(next))};
          values.append(next.values());
          return values;
        });
    base = found[0];
    upTo = found[2];
    chunk = Chunk::of(ValueRange(found).drop_front(3));
  }
  Value inChunk = b.sub(warpBegin, base);
  Value before = b.sub(upTo, b.mul(placesOf(chunk.counts), headsInLine));
  // The requests that end at or before this place are as many as the lane's number.
  Value ended = b.compare(arith::CmpIPredicate::sle, upTo, inChunk);
  Value from = b.warpReduce(ReduceKind::Sum, b.select(ended, b.i32(1), b.i32(0)));
  Segment segment = enter(chunk, from, warpBegin, b.sub(inChunk, b.shuffle(before, from)));
  if (!space.fixedPieces)
    return segment;
  // The part may begin in a segment's last piece, which is another warp's.
  Value isPiece = b.either(b.less(segment.begin, segment.end), isLast(segment));
  Values values = segment.values();
  return Segment::of(b.ifThenElse(
      isPiece, llvm::to_vector(ValueRange(values).getTypes()), [&] { return values; },
      [&] { return next(segment).values(); }));
}

/// The chunk that holds the next request with slices behind lane `lane`; `found`: that one's lane.
SegmentLine::Chunk SegmentLine::advance(const Chunk &chunk, Value lane, Value &found) {
  auto nextLane = [&](const Chunk &chunk, Value behind) {
    Value wanted = b.both(b.less(behind, this->lane), b.less(b.i32(0), chunk.counts));
    return b.warpReduce(ReduceKind::Min, b.select(wanted, this->lane, b.i32(kWarp)));
  };
  found = nextLane(chunk, lane);
  if (oneChunk)
    return chunk;
  Values carried{found};
  carried.append(chunk.values());
  Values last = b.whileLoop(
      carried,
      [&](ValueRange v) {
        Value more = b.less(b.add(v[1], 1), chunks);
        return b.both(b.equal(v[0], b.i32(kWarp)), more);
      },
      [&](ValueRange v) {
        Chunk next = readChunk(b.add(v[1], 1));
        Values values{nextLane(next, b.i32(-1))};
        values.append(next.values());
        return values;
      });
  found = last[0];
  return Chunk::of(ValueRange(last).drop_front());
}

Segment SegmentLine::next(const Segment &segment) {
  Value at = after(segment), head = b.add(segment.head, 1), zero = b.i32(0), begin = zero;
  Chunk chunk{segment.chunk, segment.requests, segment.counts};
  Value here; // where pieces are fixed the next one may be of the same segment
  if (space.fixedPieces) {
    here = b.less(segment.end, endOf(segment));
    at = b.select(here, segment.at, at);
    head = b.select(here, segment.head, head);
    begin = b.select(here, segment.end, zero);
  }
  auto sameRequest = [&] {
    Segment next = segment;
    next.at = at;
    next.head = head;
    next.begin = begin;
    cut(next);
    return next.values();
  };
  auto nextRequest = [&] {
    Value found;
    Chunk now = advance(chunk, segment.lane, found);
    return enter(now, found, at, zero).values();
  };
  Values current = segment.values();
  Value same = b.less(head, b.i32(space.kvHeads));
  if (headPerWarp) {
    same = b.both(same, b.equal(headPerWarp, b.boolean(false)));
    same = here ? b.either(same, here) : same;
  }
  return Segment::of(b.ifThenElse(same, llvm::to_vector(ValueRange(current).getTypes()),
                                  sameRequest, nextRequest));
}
