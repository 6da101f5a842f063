//===- StreamedSource.h - a warp fills its own ring -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ahead of the fold, in the same order, slice after slice: as boxes of TMA, or, where pages are no
// multiple of eight keys, row by row. Page ids are read 32 at a time, one a lane, long before they
// are used, so that a slice's fold hides their latency.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H

#include "PageTable.h"
#include "StreamedSegments.h"

namespace pagefold::hopper {

class StreamedSource {
public:
  static std::unique_ptr<StreamedSource> create(SpaceKernel &kernel, const StreamedSpace &space,
                                                SegmentLine &line, const StreamedRings &rings);
  virtual ~StreamedSource() = default;

  /// What is known of the next slice to bring, as values of a loop.
  Values start(const Segment &first, mlir::Value hasWork);
  /// Starts the copies of the next slice into the stage of `turn`, where one is left. `ahead`: the
  /// kernel before this one may not be done, and is waited for where the slice has new keys.
  Values bring(mlir::ValueRange state, mlir::Value turn, bool ahead = false);

protected:
  struct State {
    mlir::Value some;  ///< whether a slice is left
    mlir::Value visit; ///< of the segment
    Values found;      ///< of this visit and those behind it: what lookUp() has read
    Segment segment;
    Values values() const;
    static State of(mlir::ValueRange values, int64_t found);
  };
  struct Side {
    mlir::Value ring, buffer;
  };
  /// `block`: visits for which the lanes look up together; `found`: values of that.
  StreamedSource(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                 const StreamedRings &rings, int64_t block, int64_t found);

  /// The visit has come to another block. `isNew`: whether that is of another piece than before;
  /// null: it is.
  virtual void lookUp(State &state, mlir::Value isNew) = 0;
  /// Starts the copies of the visit.
  virtual void fill(const State &state, mlir::Value turn, bool ahead) = 0;

  /// The visit's number in its block.
  mlir::Value inBlock(const State &state, mlir::Value visit);
  /// Waits for the kernel before this one if the slice from `key` on has new keys.
  void awaitNewKeys(const State &state, mlir::Value key);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  SegmentLine &line;
  std::optional<PageTable> table;
  int64_t block, found;
  mlir::Value warp, lane;
  Side keys, values;

private:
  State stateOf(mlir::ValueRange values) { return State::of(values, found); }
  State step(const State &state);
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSOURCE_H
