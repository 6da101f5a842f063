//===- FoldSpace.h - what a kernel knows of its space -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of a space of one fold and its numbers, before any code of its kernel is built; whatever
// the schedule.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FOLDSPACE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FOLDSPACE_H

#include "SpaceKernel.h"
#include "pagefold/Analysis/TileVisits.h"

namespace pagefold::hopper {

struct FoldSpace {
  /// Requires a space with a schedule that pipelinedRefusal() takes, whose fold has a visit list.
  /// `maxRanges`: of a visit list that its kernel walks range by range.
  FoldSpace(tile::SpaceOp space, size_t maxRanges);

  // Level 2: buffers of the function, regions of the space.
  mlir::Value query, output, lse, sinks; ///< the last two may be null
  mlir::Value rows;                      ///< row offsets of the requests
  tile::PagedOp paged;                   ///< one of these two
  tile::DenseOp dense;
  llvm::SmallVector<mlir::Value> ropeTables; ///< they bound positions
  mlir::Region *queryRows;                   ///< what becomes of queries as they are loaded
  mlir::Region *score, *epilogue;            ///< null, as the one above: nothing to do
  double scale;
  MaskSets maskSets;
  llvm::SmallVector<mlir::Value> maskSymbols, maskRowValues;

  // Numbers.
  int64_t qTile, kvTile, kDim, vDim, group, kvHeads;
  int64_t pageSize; ///< 0: dense
  /// Requests of other numbers of query rows have no items here.
  std::optional<int64_t> minQLen, maxQLen;
  attn::BoundsAttr maxima; ///< of its requests
  mlir::Type element;      ///< of keys and values
  mlir::Type queryElement; ///< of queries and results: 16 bits
  TileBounds bounds;
  llvm::SmallVector<VisitKind> ranges; ///< of the visit list
  /// A kernel does not visit those ranges, but one masked range from the first tile to the last:
  /// some would test each tile, or there are more than its schedule takes.
  bool hull;

  int64_t heads() const { return kvHeads * group; }
  /// Whether a request's keys start where an offset says (Request::keys).
  bool hasKeyStarts() const;
  /// Whether another kernel of the function makes what tells the requests' extents: row offsets,
  /// lengths, page tables, or what binds the mask's symbols.
  bool hasMadeExtents() const;
  /// From a row's maximum to its natural scale: a score region has seen scaled scores.
  double naturalScale() const { return score ? 1.0 : scale; }
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FOLDSPACE_H
