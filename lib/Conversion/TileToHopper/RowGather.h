//===- RowGather.h - a warp copies rows of pages ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages of any size: lane l finds where the l-th row starts, and neighbouring lanes then copy
// neighbouring units of a row, 16 bytes a lane, whose place they take from the lane that found it.
// Rows without a page become zeros.
//
// A launch refuses pools whose addresses or strides are no multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWGATHER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWGATHER_H

#include "SpaceKernel.h"

namespace pagefold::hopper {

/// Rows that the lanes have found, one each.
struct LaneRows {
  mlir::Value low, high; ///< i32 halves of the element where the lane's row starts; high is
                         ///< negative where it has no page
};

/// The stage of a ring that rows go to.
struct GatherTarget {
  mlir::Value ring, turn;
  mlir::Value warp; ///< whose ring it is; null for a ring of all
};

/// Of one pool, [pages, slots, heads, dim].
class RowGather {
public:
  /// `tileRows`: of a tile; `copiesAtOnce`: that a lane starts together.
  RowGather(SpaceKernel &kernel, mlir::Value pool, int64_t tileRows, int64_t copiesAtOnce);

  /// The lane's row; a negative page is none.
  LaneRows find(mlir::Value page, mlir::Value slot, mlir::Value kvHead);
  /// Up to 32 rows, the tile's from `firstRow` on, those that the lanes from `firstLane` on have
  /// found; null: from lane 0 on.
  void copy(const GatherTarget &target, const LaneRows &rows, mlir::Value firstRow,
            mlir::Value firstLane = {});

private:
  SpaceKernel &kernel;
  HopperBuilder &b;
  mlir::Value pool, lane;
  int64_t dim, unitElements, tileRows, copiesAtOnce;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWGATHER_H
