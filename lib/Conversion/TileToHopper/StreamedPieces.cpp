//===- StreamedPieces.cpp - segments in fixed pieces ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For results whose bits do not depend on the batch: a request's keys are cut at places that follow
// from their number alone, each piece is folded by one warp from nothing, and the pieces are merged
// in their order, by the warp that folds the last one. Where others have pieces before that, it
// does so once it has folded its own: the last piece of a segment stands at the beginning of its
// part, and the others at the end of parts before it. It waits for warps with smaller parts of the
// line only, which run before it or beside it and wait for nothing until they have handed over.
//
//===----------------------------------------------------------------------===//

#include "StreamedFold.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static constexpr int64_t kVector = 4;

/// A state as packets: for each block its accumulator's vectors, then maxima and sums.
static int64_t vectorsOf(const StreamedSpace &space) { return space.valueSteps() + 1; }

int64_t pagefold::hopper::packetFloats(const StreamedSpace &space) {
  return space.columnBlocks() * vectorsOf(space) * kVector * kWarp;
}

Value StreamedPiece::packetOf(Value piece) {
  Value segmentNumber = b.add(b.mul(segment.request.number, space.kvHeads), segment.head);
  Value place = b.add(b.mul(segmentNumber, space.fixedPieces), piece);
  return b.add(b.mul(place, packetFloats(space)), b.mul(lanes.lane, vectorsOf(space) * kVector));
}

StreamedState StreamedPiece::collect(Value packets, Value piece) {
  SmallVector<Type> types(vectorsOf(space), VectorType::get({kVector}, b.getF32Type()));
  StreamedState state;
  for (int64_t block = 0; block < space.columnBlocks(); ++block) {
    Value offset = b.add(packetOf(piece), block * vectorsOf(space) * kVector * kWarp);
    auto collected = CollectOp::create(b, types, b.getI64IntegerAttr(1), packets, offset,
                                       b.getI64IntegerAttr(vectorsOf(space) * kVector), b.i32(1));
    Values vectors(collected.getValues());
    Value last = vectors.pop_back_val();
    state.max.push_back(b.vectorOf({b.element(last, 0), b.element(last, 1)}));
    state.sum.push_back(b.vectorOf({b.element(last, 2), b.element(last, 3)}));
    state.output.push_back(std::move(vectors));
  }
  return state;
}

StreamedState StreamedPiece::merge(const StreamedState &first, const StreamedState &second) {
  StreamedState merged = first;
  for (size_t block = 0; block < first.max.size(); ++block) {
    Value max = b.maxF(first.max[block], second.max[block]), top = b.finiteMax(max, max);
    auto factorOf = [&](Value own) { return b.exp2Difference(own, top, exponent); };
    Value before = factorOf(first.max[block]), now = factorOf(second.max[block]);
    merged.max[block] = max;
    merged.sum[block] = b.addF(b.mulF(first.sum[block], before), b.mulF(second.sum[block], now));
    for (auto [sum, other] : llvm::zip_equal(merged.output[block], second.output[block]))
      sum = b.addF(scaleColumns(b, sum, before), scaleColumns(b, other, now));
  }
  return merged;
}

/// The pieces before `piece`, in their order.
StreamedState StreamedPiece::mergedUpTo(Value piece, Value packets) {
  Values carried{b.i32(0)};
  carried.append(init().values());
  Values last = b.whileLoop(
      carried, [&](ValueRange v) { return b.less(v[0], piece); },
      [&](ValueRange v) {
        StreamedState before = StreamedState::of(space, v.drop_front());
        Values next{b.add(v[0], 1)};
        next.append(merge(before, collect(packets, v[0])).values());
        return next;
      });
  return StreamedState::of(space, ValueRange(last).drop_front());
}

void StreamedPiece::finishFixed(const StreamedState &state, SegmentLine &line, Value packets) {
  Value piece = b.divide(segment.begin, pieceOf(b, space, segment.count));
  auto handOver = [&] {
    for (int64_t block = 0; block < space.columnBlocks(); ++block) {
      Values vectors = state.output[block];
      Value max = state.max[block], sum = state.sum[block];
      vectors.push_back(
          b.vectorOf({b.element(max, 0), b.element(max, 1), b.element(sum, 0), b.element(sum, 1)}));
      HandOverOp::create(b, vectors, packets,
                         b.add(packetOf(piece), block * vectorsOf(space) * kVector * kWarp));
    }
    return Values();
  };
  auto finishSegment = [&] { return store(merge(mergedUpTo(piece, packets), state)), Values(); };
  b.ifThenElse(b.either(b.less(segment.end, segment.count), line.beganBefore(segment)), {},
               handOver, finishSegment);
}

void StreamedPiece::mergeFixed(Value packets) {
  Value pieces = b.ceilDivide(segment.count, pieceOf(b, space, segment.count));
  store(mergedUpTo(pieces, packets));
}
