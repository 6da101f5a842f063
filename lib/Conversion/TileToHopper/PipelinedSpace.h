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

#include "FoldSpace.h"
#include "pagefold/Target/Hopper/Chip.h"

namespace pagefold::hopper {

struct PipelinedSpace : FoldSpace {
  /// Requires a space that pipelinedRefusal() takes, whose fold has a visit list.
  PipelinedSpace(tile::SpaceOp space);

  int64_t stages = 2, warpgroups = 2;
  int64_t maxParts; ///< of the KV tiles of a query tile, where tiles are few
  /// The ranges of KV tiles that have a loop each, newest first: whether they are masked.
  llvm::SmallVector<bool> rangeIsMasked;

  // Query tiles. Packed, row p of a tile is of query row p / groupRows and head p mod groupRows of
  // a group; those past the group are padding: rows of other heads, or zeros, without a result.
  bool packed;       ///< tiles hold rows of all heads of a group; else of one head
  int64_t groupRows; ///< rows of a tile that a query row takes; 1: not packed
  int64_t tileQueries() const { return qTile / groupRows; } ///< query rows of a tile
  /// Heads that have tiles of their own, and how many of them read the same keys.
  int64_t tileHeads() const { return packed ? kvHeads : heads(); }
  int64_t tileHeadsOfKeys() const { return packed ? 1 : group; }

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
inline constexpr int64_t kMaxPartials = kHopper.multiprocessors;

/// Where the allocations of a kernel are.
struct SharedAllocations {
  mlir::Value tiles;      ///< notes of query tiles, from the scheduler to the keys' warp
  mlir::Value valueTiles; ///< from there to the values' warp
  mlir::Value query, keys, values;
  mlir::Value output; ///< null where there is no room for it
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDSPACE_H
