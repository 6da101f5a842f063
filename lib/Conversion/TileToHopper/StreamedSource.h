//===- StreamedSource.h - a warp fills its own ring -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ahead of the fold, in the same order, slice after slice. Page ids are read 32 at a time, one a
// lane, as soon as the slice before is under way, so that a slice's fold hides their latency.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H

#include "PageTable.h"
#include "StreamedSegments.h"

namespace pagefold::hopper {

class StreamedSource {
public:
  StreamedSource(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                 mlir::Value keys, mlir::Value values, mlir::Value warp);

  /// What is known of the next slice to bring, as values of a loop.
  Values start(const Segment &first, mlir::Value hasWork);
  /// Starts the copies of the next slice into the stage of `turn`, where one is left. `ahead`: the
  /// kernel before this one may not be done, and is waited for where the slice has new keys.
  Values bring(mlir::ValueRange state, mlir::Value turn, bool ahead = false);

private:
  struct State {
    mlir::Value some;  ///< whether a slice is left
    mlir::Value visit; ///< of the segment
    // Of the 32 visits from a multiple of 32 on, counted from the piece's first, one a lane.
    mlir::Value firstKeys;
    Values pages; ///< of each box
    Segment segment;
    Values values() const;
    static State of(mlir::ValueRange values, int64_t boxes);
  };
  State stateOf(mlir::ValueRange values) { return State::of(values, boxes); }
  struct Side {
    mlir::Value ring, buffer, map;
    int64_t dim;
  };
  Side side(mlir::Value ring, mlir::Value buffer, int64_t dim);
  void lookUp(State &state);
  State step(const State &state);
  void fill(const State &state, mlir::Value turn, bool ahead);
  /// `rows`, `pages`: of each box; no pages of dense rows.
  void fillSide(const Side &side, mlir::Value turn, mlir::Value head, const Values &rows,
                const Values &pages);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  SegmentLine &line;
  std::optional<PageTable> table;
  int64_t boxes; ///< of a slice
  mlir::Value warp, lane;
  Side keys, values;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H
