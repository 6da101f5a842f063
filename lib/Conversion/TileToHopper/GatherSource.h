//===- GatherSource.h - pages that TMA boxes cannot bring -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages of any size: the warp copies a tile's rows itself, 16 bytes a lane. Lane l finds the pages
// of rows l, 32 + l, .. of the tile, a coalesced read of the table however short the pages are.
// Neighbouring lanes then copy neighbouring units of a row, whose place they take from the lane
// that found it. Rows past the length, and those of broken page ids, become zeros.
//
// A launch refuses pools whose addresses or strides are no multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_GATHERSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_GATHERSOURCE_H

#include "PagedSource.h"

namespace pagefold::hopper {

class GatherSource : public PagedSource {
public:
  GatherSource(SpaceKernel &kernel, const PipelinedSpace &space);
  bool copiesRows() const override { return true; }
  /// A page id for each 32 rows of the tile.
  Values lookUp(const Request &request, mlir::Value tile) override;

private:
  /// A part of the tile whose rows the lanes have found, at most one each.
  struct Chunk {
    mlir::Value firstRow;
    mlir::Value low, high; ///< of the element where the lane's row starts; i32 halves
    mlir::Value present;   ///< a bit for each row
  };
  Chunk findRows(const Side &side, mlir::Value number, mlir::Value kvHead, mlir::Value tile,
                 mlir::Value page);
  void copyRows(const Side &side, mlir::Value ring, mlir::Value turn, const Chunk &chunk);
  void copy(const Side &side, mlir::Value ring, mlir::Value turn, const Request &request,
            mlir::Value kvHead, mlir::Value tile, mlir::ValueRange found) override;
  /// The key of the lane's row in a chunk.
  mlir::Value keyOf(mlir::Value tile, mlir::Value chunk);
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_GATHERSOURCE_H
