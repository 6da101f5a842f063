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

#include "StreamedNewRows.h"
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
  bool isBytes;       ///< keys of 8 bits: rows of an accumulator's block stand in another order
  /// The element of the head dimension that row `i` of the lane's two is in an accumulator's block.
  mlir::Value element(HopperBuilder &b, int64_t step, int64_t i) const;
  // Of each block's packed rows: those of its columns, and that of its row, once transposed.
  llvm::SmallVector<PackedRows> columns, rows;
};

/// Queries beside keys of 8 bits, in pairs of the lane's row: rounded to f16, each row scaled by
/// the power of two that brings its greatest near 1. Returns, for the columns of the block, what
/// scores are multiplied by: the inverse power and the keys' scale.
mlir::Value narrowQueries(SpaceKernel &kernel, const StreamedSpace &space,
                          const StreamedLanes &lanes, mlir::Value kvHead, Values &pairs);

/// One piece: a segment's queries, mask and regions, and the fold over its slices.
class StreamedPiece {
public:
  StreamedPiece(SpaceKernel &kernel, const StreamedSpace &space, const StreamedLanes &lanes,
                SegmentLine &line, const Segment &segment);

  /// Loads the segment's queries, and asks for the new rows that concern the piece: before the
  /// first step.
  void begin();
  StreamedState init();
  /// Folds visit `visit`, whose slice is in the stages of `turn`.
  StreamedState step(const StreamedState &state, mlir::Value visit, mlir::Value turn,
                     const StreamedRings &rings);
  /// Of a whole segment: results to the caller's buffers.
  void store(const StreamedState &state);
  /// Of a piece: the state to area `area`.
  void leave(const StreamedState &state, const StateAreas &areas, mlir::Value area);
  /// Of a fixed piece: the state to its place in `packets`; or, of a segment that this warp has
  /// read alone, of its last piece: the results.
  void finishFixed(const StreamedState &state, SegmentLine &line, mlir::Value packets);
  /// The results of the segment, all of whose pieces are in `packets` or on their way there.
  void mergeFixed(mlir::Value packets);

private:
  RowPairs loadQueries(size_t block);
  /// As right blocks.
  Values takeQueries(RowPairs &own);
  /// Left blocks of keys, or, transposed, of values: `steps` times 16 elements along the head
  /// dimension.
  Values loadBlocks(mlir::Value ring, mlir::Value turn, mlir::Value warp, int64_t row,
                    int64_t steps, bool transposed);
  /// Scores for each block of packed rows: vectors of two for the lane's upper row of each block of
  /// keys, and for the one eight below.
  llvm::SmallVector<Values> scores(mlir::Value turn, const StreamedRings &rings);
  Values prepare(mlir::ValueRange scores, size_t block, mlir::Value firstKey);
  mlir::Value mapScores(mlir::Value scores, size_t block, mlir::Value key);
  /// Weights as right blocks; updates the block's maximum and sum, and gives the factor of what was
  /// summed before.
  Values weigh(mlir::ValueRange scores, mlir::Value &max, mlir::Value &sum, mlir::Value &factor);
  mlir::Value presentKeys(mlir::Value firstKey);
  void storeBlock(mlir::Value block, int64_t step, size_t number, mlir::Value factor);
  void leaveBlock(const StreamedState &state, size_t block, mlir::Value words, mlir::Value start);
  mlir::Value packetOf(mlir::Value piece);
  StreamedState mergedUpTo(mlir::Value piece, mlir::Value packets);
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
  Values scoreFactors;                   ///< of keys of 8 bits, for each block's columns
  llvm::SmallVector<Values> queries;     ///< of each block: right blocks along the head dimension
  std::optional<NewRows> newRows;        ///< where the kernel appends
  mlir::Value firstCta, lastCta;         ///< of those that read the segment
  mlir::Value leads; ///< whether the piece is the first of its segment in this CTA
  mlir::Value exponent;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDFOLD_H
