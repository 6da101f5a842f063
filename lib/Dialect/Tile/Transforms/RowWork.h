//===- RowWork.h - kernels of rows, and what they may be moved past -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_ROWWORK_H
#define PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_ROWWORK_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::tile {

inline bool isRowWork(mlir::Operation *op) { return mlir::isa<RowsOp, AppendOp>(op); }

/// Whether works may be moved past it: it has no work of its own. Reserving memory is none.
inline bool isPassed(mlir::Operation *op) {
  return mlir::isa<WorkspaceOp, BatchOp>(op) || mlir::isMemoryEffectFree(op);
}

} // namespace pagefold::tile

#endif // PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_ROWWORK_H
