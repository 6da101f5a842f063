//===- StreamedSegments.h - who reads which keys ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *segment* is what one KV head of one request visits, in slices. All slices of the batch, one
// segment after another, are one line, of which each CTA takes an equal part and each of its warps
// an equal part of that. Or, where there is much to do and no request has most of it, a CTA takes
// its part of the slices of one head, and each of its warps reads those of another head: what lies
// side by side in memory is then read at the same time. The line is computed from lengths in device
// memory, by every warp for itself: nothing of the launch depends on them.
//
// Equal parts of the work, that is: of segments of unequal lengths, beginning and ending one counts
// as two slices. So the line consists of *places*: of a segment, two for itself or none, then one
// for each slice. Where segments come in fixed pieces, a warp reads those that begin in its part.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSEGMENTS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSEGMENTS_H

#include "MaskOnRows.h"
#include "Requests.h"
#include "StreamedSpace.h"

namespace pagefold::hopper {

/// The ranges of slices that a request's rows visit.
class SliceVisits {
public:
  /// `valid`: as MaskValues takes it.
  SliceVisits(SpaceKernel &kernel, const FoldSpace &space, const Request &request,
              mlir::Value valid = {});
  /// How many there are; at least one for a request with rows, which must be given a result.
  mlir::Value count(const Request &request);
  /// The slice's number among the request's when it is visit `i`.
  mlir::Value nth(mlir::Value i);

private:
  HopperBuilder &b;
  llvm::SmallVector<VisitRange> ranges;
};

/// Slices of a fixed piece of a segment of `count` slices: as many as give the most pieces, and
/// enough that merging it costs little beside it.
mlir::Value pieceOf(HopperBuilder &b, const StreamedSpace &space, mlir::Value count);

/// A warp's piece of a segment; the request is the same in all lanes.
struct Segment {
  mlir::Value at;         ///< the first place of its segment
  mlir::Value begin, end; ///< visits of the segment
  mlir::Value count;      ///< visits of the whole segment
  mlir::Value head;       ///< KV head
  Request request;
  // The 32 requests among which it is, one a lane.
  mlir::Value chunk, lane, counts;
  Request requests;

  Values values() const;
  static Segment of(mlir::ValueRange values);
  size_t size() const { return values().size(); }
};

/// The line of slices, and what of it is whose.
class SegmentLine {
public:
  SegmentLine(SpaceKernel &kernel, const StreamedSpace &space, RequestReader &requests,
              mlir::Value warp);

  /// Whether this warp has places; if not, first() is of no use. Where none of them is a slice's,
  /// the first piece is empty, and the last one.
  mlir::Value hasPlaces() { return b.less(warpBegin, warpEnd); }
  Segment first();
  /// The piece behind `segment`; meant only where isLast() does not hold.
  Segment next(const Segment &segment);
  mlir::Value isLast(const Segment &segment) {
    mlir::Value ended = b.atLeast(placeOf(after(segment), b.i32(0)), warpEnd);
    return space.fixedPieces ? b.both(ended, b.atLeast(segment.end, endOf(segment))) : ended;
  }
  /// Whether every warp of a CTA reads another head; null: never.
  mlir::Value readsHeads() const { return headPerWarp; }
  /// The CTA that reads visit `i` of the segment.
  mlir::Value ctaOf(const Segment &segment, mlir::Value i) { return ctaOf(placeOf(segment.at, i)); }
  /// Whether the segment has visits before this warp's.
  mlir::Value beganBefore(const Segment &segment) {
    return b.less(b.i32(0), firstVisit(segment, warpBegin));
  }
  /// Whether this warp has its last visit.
  mlir::Value endsHere(const Segment &segment) {
    return b.both(b.less(firstVisit(segment, warpBegin), segment.count),
                  b.atLeast(endOf(segment), segment.count));
  }
  /// Whether the piece is the first one of its segment in this CTA.
  mlir::Value leads(const Segment &segment) {
    return b.equal(segment.begin, firstVisit(segment, begin));
  }

private:
  /// 32 requests and their slices for one KV head.
  struct Chunk {
    mlir::Value number;
    Request requests;
    mlir::Value counts;
    Values values() const;
    static Chunk of(mlir::ValueRange values);
  };
  Chunk readChunk(mlir::Value number) { return checkChunk(number, requests.load(number)); }
  Chunk checkChunk(mlir::Value number, mlir::ValueRange loaded);
  /// Places of a segment of so many slices: none has none.
  mlir::Value placesOf(mlir::Value slices) {
    return b.select(b.less(b.i32(0), slices), b.add(slices, segmentPlaces), b.i32(0));
  }
  /// Slices and segments of one head, of a chunk's requests up to each lane's, or of all.
  struct Counts {
    mlir::Value slices, segments;
  };
  Counts scan(const Chunk &chunk);
  Counts sum(const Chunk &chunk);
  mlir::Value isSegment(const Chunk &chunk) {
    return b.select(b.less(b.i32(0), chunk.counts), b.i32(1), b.i32(0));
  }
  /// Places of so many in the line.
  mlir::Value placesOf(const Counts &counts) {
    mlir::Value ofHead = b.add(counts.slices, b.mul(counts.segments, segmentPlaces));
    return b.mul(ofHead, headsInLine);
  }
  /// The place of visit `i` of the segment that starts at `start`.
  mlir::Value placeOf(mlir::Value start, mlir::Value i) {
    return b.add(b.add(start, segmentPlaces), i);
  }
  /// The first visit, of the `count` of a segment, of parts that begin at its place `inSegment`.
  mlir::Value firstVisit(mlir::Value count, mlir::Value inSegment);
  mlir::Value firstVisit(const Segment &segment, mlir::Value place) {
    return firstVisit(segment.count, b.sub(place, segment.at));
  }
  mlir::Value ctaOf(mlir::Value place);
  mlir::Value startOf(mlir::Value cta);
  /// Of all requests; and the most slices of one.
  std::pair<Counts, mlir::Value> countAll();
  void share(mlir::Value ctas);
  Chunk advance(const Chunk &chunk, mlir::Value lane, mlir::Value &found);
  Segment enter(const Chunk &chunk, mlir::Value lane, mlir::Value at, mlir::Value inRequest);
  mlir::Value after(const Segment &segment) { return b.add(segment.at, placesOf(segment.count)); }
  /// Where the warp's visits of the segment end.
  mlir::Value endOf(const Segment &segment) { return firstVisit(segment, warpEnd); }
  /// Sets the end of a piece that has all else.
  void cut(Segment &piece);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  RequestReader &requests;
  bool oneChunk;
  mlir::Value lane, chunks, warp;
  // The first chunk, and what was found of it while nothing else was known.
  Chunk firstChunk;
  Counts firstScan, firstSum;
  mlir::Value segmentPlaces;        ///< of each segment beside those of its slices
  mlir::Value headPerWarp;          ///< i1; null: never
  mlir::Value total;                ///< places of the line
  mlir::Value headsInLine;          ///< all KV heads, or one
  mlir::Value unitBits;             ///< a CTA's part is a multiple of 2^unitBits places
  mlir::Value shares, perCta, rest; ///< in units
  mlir::Value begin, warpBegin, warpEnd;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSEGMENTS_H
