//===- GatherSource.h - pages that TMA boxes cannot bring -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages of any size: the warp copies a tile's rows itself (RowGather.h), in chunks of 32. Lane l
// finds the page of the chunk's row l, a coalesced read of the table however short the pages are.
// Rows past the length, and those of broken page ids, become zeros.
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
  /// 32 rows of the tile from `firstRow` on. `page`: of the lane's row, negative for none.
  void copyRows(const Side &side, mlir::Value ring, mlir::Value turn, mlir::Value kvHead,
                mlir::Value tile, mlir::Value firstRow, mlir::Value page);
  void bring(const Side &side, mlir::Value ring, mlir::Value turn, const Request &request,
             mlir::Value kvHead, mlir::Value tile, mlir::ValueRange found) override;
  /// The page id of a row of the tile.
  mlir::Value lookUpRow(const Request &request, mlir::Value tile, mlir::Value row);
  mlir::Value keyOf(mlir::Value tile, mlir::Value row);
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_GATHERSOURCE_H
