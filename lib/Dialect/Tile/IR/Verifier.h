//===- Verifier.h - what the verifiers of tile ops share --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_TILE_IR_VERIFIER_H
#define PAGEFOLD_LIB_DIALECT_TILE_IR_VERIFIER_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::tile {

inline constexpr int64_t kAnyExtent = mlir::ShapedType::kDynamic;

/// What a buffer must be: extents, `kAnyExtent` where any will do (static or not), and an element
/// type, null where any will do. Rows, the innermost dimension, are contiguous.
struct BufferShape {
  llvm::SmallVector<int64_t> extents;
  mlir::Type element = {};
};

/// Checks a buffer; the error names the constraint and what the buffer is for.
mlir::LogicalResult verifyBuffer(mlir::Operation *op, llvm::StringRef constraint,
                                 llvm::StringRef what, mlir::Value buffer,
                                 const BufferShape &expected);

/// Checks a tile's shape, in f32.
mlir::LogicalResult verifyTile(mlir::Operation *op, llvm::StringRef constraint,
                               llvm::StringRef what, mlir::Type type,
                               llvm::ArrayRef<int64_t> shape);

/// Checks that the batch, where its op is known, checks this KV.
mlir::LogicalResult verifyBatchOf(mlir::Operation *op, llvm::StringRef constraint,
                                  mlir::Value batch, mlir::Value kv);

/// Checks that the op stands in a space and takes the space's item.
mlir::LogicalResult verifyItem(mlir::Operation *op, llvm::StringRef constraint, mlir::Value item);

/// Checks that the op takes the tile's number of the fold that it stands in, and none outside.
mlir::LogicalResult verifyTileNumber(mlir::Operation *op, llvm::StringRef constraint,
                                     mlir::Value tile);

/// The region takes (f32, i32...) and yields f32.
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, llvm::StringRef constraint,
                                       mlir::Region &region, unsigned numArgs);

/// The region takes one tile [q, dim] f32 and yields one of the same type.
mlir::LogicalResult verifyRowRegion(mlir::Operation *op, llvm::StringRef constraint,
                                    mlir::Region &region, int64_t dim);

} // namespace pagefold::tile

#endif // PAGEFOLD_LIB_DIALECT_TILE_IR_VERIFIER_H
