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

/// A warp's piece of a segment; the request is the same in all lanes. Where pieces are fixed, one
/// of those: it then counts as one slice in the line.
struct Segment {
  mlir::Value at;         ///< its place in the line: of its first slice
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

  /// Whether this warp has a piece at all; if not, first() is of no use.
  mlir::Value hasWork() { return b.less(warpBegin, warpEnd); }
  Segment first();
  /// The piece behind `segment`; meant only where isLast() does not hold.
  Segment next(const Segment &segment);
  mlir::Value isLast(const Segment &segment) { return b.atLeast(after(segment), warpEnd); }
  /// Whether every warp of a CTA reads another head; null: never.
  mlir::Value readsHeads() const { return headPerWarp; }
  /// Where the segment starts in the line; not alone there where warps read heads.
  mlir::Value startOf(const Segment &segment) { return b.sub(segment.at, segment.begin); }
  /// The CTA that reads slice `at` of the line.
  mlir::Value ctaOf(mlir::Value at);
  mlir::Value ctaBegin() const { return begin; }

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
  mlir::Value slicesOf(const Chunk &chunk);
  mlir::Value startOf(mlir::Value cta);
  /// Of one head: all slices, and the most that a request has.
  std::pair<mlir::Value, mlir::Value> countSlices();
  void share();
  Chunk advance(const Chunk &chunk, mlir::Value lane, mlir::Value &found);
  Segment enter(const Chunk &chunk, mlir::Value lane, mlir::Value at, mlir::Value inRequest);
  mlir::Value after(const Segment &segment) {
    return space.pieceSlices ? b.add(segment.at, 1)
                             : b.add(segment.at, b.sub(segment.end, segment.begin));
  }
  /// Where a piece that starts at visit `begin`, place `at`, ends.
  mlir::Value endOf(mlir::Value begin, mlir::Value count, mlir::Value at);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  RequestReader &requests;
  bool oneChunk;
  mlir::Value lane, chunks, warp;
  Chunk firstChunk;
  mlir::Value headPerWarp;          ///< i1; null: never
  mlir::Value total;                ///< slices of the line
  mlir::Value headsInLine;          ///< all KV heads, or one
  mlir::Value unitBits;             ///< a CTA's part is a multiple of 2^unitBits slices
  mlir::Value shares, perCta, rest; ///< in units
  mlir::Value begin, warpBegin, warpEnd;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSEGMENTS_H
