//===- StreamedFold.h - a warp folds a piece of a segment -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products are transposed: keys are the rows of a block, so that a group of query rows, few as
// they are, fills the eight columns of a result. scores^T = K Q^T, output^T = V^T weights^T. A lane
// holds two columns of each block, and for what belongs to a packed row a vector of two.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDFOLD_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDFOLD_H

#include "StreamedResults.h"

namespace pagefold::hopper {

/// The state of the fold, for each block of eight packed rows: maxima, sums, and the blocks of the
/// accumulator along the head dimension.
struct StreamedState {
  Values max, sum;
  llvm::SmallVector<Values> output;

  Values values() const;
  static StreamedState of(const StreamedSpace &space, mlir::ValueRange values);
};

/// Both columns of a result block times their factors, a vector of two.
mlir::Value scaleColumns(HopperBuilder &b, mlir::Value block, mlir::Value factors);
/// Floats of a fixed piece's packets.
int64_t packetFloats(const StreamedSpace &space);

/// What all pieces of a warp share.
struct StreamedLanes {
  StreamedLanes(SpaceKernel &kernel, const StreamedSpace &space);

  mlir::Value lane;
  mlir::Value upper;  ///< the lane's row of a block; the other is eight below
  mlir::Value column; ///< the first of its two columns
  // Of each block's packed rows: those of its columns, and that of its row, once transposed.
  llvm::SmallVector<PackedRows> columns, rows;
};

/// One piece: a segment's queries, mask and regions, and the fold over its slices.
class StreamedPiece {
public:
  StreamedPiece(SpaceKernel &kernel, const StreamedSpace &space, const StreamedLanes &lanes,
                SegmentLine &line, const Segment &segment);

  StreamedState init();
  /// Folds visit `visit`, whose slice is in the stages of `turn`.
  StreamedState step(const StreamedState &state, mlir::Value visit, mlir::Value turn,
                     const StreamedRings &rings);
  /// Of a whole segment: results to the caller's buffers.
  void store(const StreamedState &state);
  /// Of a piece: the state to area `area`.
  void leave(const StreamedState &state, const StateAreas &areas, mlir::Value area);
  /// Of a fixed piece: the state to its place in `packets`; or, of a segment's last one, the
  /// results, merged with all pieces before it in their order.
  void finishFixed(const StreamedState &state, mlir::Value packets);

private:
  /// Scores of a block: of the lane's upper row and of the one eight below.
  using Pairs = std::array<mlir::Value, 2>;
  Values loadQueries(const PackedRows &row);
  llvm::SmallVector<Pairs> scores(mlir::Value turn, const StreamedRings &rings);
  Pairs prepare(const Pairs &scores, size_t block, mlir::Value firstKey);
  mlir::Value mapScores(mlir::Value scores, size_t block, mlir::Value key);
  /// Weights as a right block; updates the block's maximum and sum, and gives the factor of what
  /// was summed before.
  mlir::Value weigh(const Pairs &scores, mlir::Value &max, mlir::Value &sum, mlir::Value &factor);
  mlir::Value presentKeys(mlir::Value firstKey);
  void leaveBlock(const StreamedState &state, size_t block, mlir::Value words, mlir::Value start);
  mlir::Value packetOf(mlir::Value piece);
  StreamedState collect(mlir::Value packets, mlir::Value piece);
  StreamedState merge(const StreamedState &first, const StreamedState &second);
  void leaveNote(const StateAreas &areas, mlir::Value area);

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  const StreamedLanes &lanes;
  Segment segment;
  SliceVisits visits;
  StreamedResults results;
  llvm::SmallVector<ScoreMask, 2> masks; ///< of each block's columns
  llvm::SmallVector<Values> queries;     ///< of each block: right blocks along the head dimension
  mlir::Value firstCta, lastCta;         ///< of those that read the segment
  mlir::Value leads; ///< whether the piece is the first of its segment in this CTA
  mlir::Value exponent;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDFOLD_H
