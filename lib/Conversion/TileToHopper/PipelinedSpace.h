//===- PipelinedSpace.h - a space as the pipelined schedule sees it -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of a space before any code of its kernel is built: its ops, its numbers, and what
// lies where in shared memory. Producer and consumers are built from the same one, so that they
// agree on the tiles, their order and what travels with them.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDSPACE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDSPACE_H

#include "SpaceKernel.h"
#include "pagefold/Analysis/TileVisits.h"

namespace pagefold::hopper {

struct PipelinedSpace {
  /// Requires a space that pipelinedRefusal() takes, whose fold has a visit list.
  PipelinedSpace(tile::SpaceOp space);

  // Level 2: buffers of the function, regions of the space.
  mlir::Value query, output, lse, sinks; ///< the last two may be null
  mlir::Value rows;                      ///< row offsets of the requests
  tile::PagedOp paged;                   ///< one of these two
  tile::DenseOp dense;
  llvm::SmallVector<mlir::Value> ropeTables; ///< they bound positions
  mlir::Region *score, *epilogue;            ///< null: nothing to do
  double scale;
  MaskSets maskSets;
  llvm::SmallVector<mlir::Value> maskSymbols, maskRowValues;

  // Numbers.
  int64_t qTile, kvTile, kDim, vDim, group, kvHeads;
  int64_t pageSize; ///< 0: dense
  int64_t stages = 2, warpgroups = 2;
  int64_t maxParts; ///< of the KV tiles of a query tile, where tiles are few
  mlir::Type element;
  TileBounds bounds;
  /// The ranges of a visit list as the kernel walks it, newest first: whether each is masked.
  llvm::SmallVector<bool> rangeIsMasked;
  /// More ranges than the kernel has loops for, or tests: one masked range from first to last.
  bool hull = false;

  int64_t heads() const { return kvHeads * group; }
  /// Whether a request's keys start where an offset says (Request::keys).
  bool hasKeyStarts() const;
  int64_t warpgroupRows() const { return qTile / warpgroups; }
  /// Q stays in registers where they suffice: it saves reading it again for every KV tile.
  bool queryInRegisters() const { return kDim <= 128; }
  /// Rows of K and V that one TMA box brings; 0: they are gathered.
  int64_t boxRows() const;
  /// How rows of head dimension `dim` lie in shared memory: short pages bring whole octets of rows,
  /// since a box for each of their panels would be too many boxes.
  Order orderOf(int64_t dim) const;

  // Types of level 3.
  RingType tileRing() const;
  RingType queryRing() const;
  RingType keyRing() const;
  RingType valueRing() const;
  SharedType outputTiles() const;
  FragmentType scoreFragment() const;
  FragmentType outputFragment() const;
};

/// Parts of all tiles together: no more than multiprocessors, since splitting is for few tiles.
inline constexpr int64_t kMaxPartials = 132;

/// Where the allocations of a kernel are.
struct SharedAllocations {
  mlir::Value tiles;      ///< notes of query tiles, from the scheduler to the keys' warp
  mlir::Value valueTiles; ///< from there to the values' warp
  mlir::Value query, keys, values;
  mlir::Value output; ///< null where there is no room for it
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDSPACE_H
