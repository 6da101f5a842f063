//===- GatherSource.h - pages that TMA boxes cannot bring -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages of any size: the warp copies a tile's rows itself, 16 bytes a lane, in chunks of 32. Lane l
// finds the page of the chunk's row l, a coalesced read of the table however short the pages are.
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
  /// The page of the lane's row in the tile's first chunk.
  Values lookUp(const Request &request, mlir::Value tile) override;

private:
  /// Rows of the tile that the lanes have found, one each.
  struct Chunk {
    mlir::Value firstRow;  ///< of the tile; a multiple of 32
    mlir::Value low, high; ///< i32 halves of the element where the lane's row starts; high is
                           ///< negative where it has no page
  };
  Chunk findRows(const Side &side, mlir::Value firstRow, mlir::Value kvHead, mlir::Value tile,
                 mlir::Value page);
  void copyRows(const Side &side, mlir::Value ring, mlir::Value turn, const Chunk &chunk);
  void bring(const Side &side, mlir::Value ring, mlir::Value turn, const Request &request,
             mlir::Value kvHead, mlir::Value tile, mlir::ValueRange found) override;
  /// The page id of a row of the tile.
  mlir::Value lookUpRow(const Request &request, mlir::Value tile, mlir::Value row);
  mlir::Value keyOf(mlir::Value tile, mlir::Value row);
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_GATHERSOURCE_H
