//===- ConvertRegions.h - score, epilogue and prologue regions --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTREGIONS_H
#define PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTREGIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold {

/// Gives the level-2 value of a level-1 one: a buffer, a scalar, keys and values.
using Lookup = llvm::function_ref<mlir::Value(mlir::Value)>;

/// Fills `target` (whose block has the scalar arguments already) from a score or epilogue region.
/// `argument[i]` is the target's argument for the i-th index argument of `source`; `position` and
/// `token` are those arguments' numbers. An absent region becomes the identity.
struct ScalarArguments {
  llvm::SmallVector<unsigned> argument;
  unsigned position, token;
};
void convertScalarRegion(mlir::Region &source, mlir::ValueRange captures, Lookup lookup,
                         mlir::Region &target, const ScalarArguments &arguments,
                         mlir::Location loc);

/// Fills `target` from a row-wise prologue; `type` is the tile of rows. `checkPositions` is asked
/// whether a rope's rows and cache are those of the work it moves into. An absent region becomes
/// the identity.
mlir::LogicalResult
convertPrologue(mlir::Region &source, mlir::ValueRange captures, Lookup lookup,
                mlir::Region &target, tile::TileType type,
                llvm::function_ref<bool(mlir::Value rows, mlir::Value cache)> checkPositions,
                mlir::Location loc);

/// Maps what the body of an elementwise op uses from around it, constants and scalars; fails, with
/// an error, for what has no level-2 value.
mlir::LogicalResult mapCaptures(mlir::linalg::GenericOp op, Lookup lookup,
                                mlir::IRMapping &mapping);

/// Converts one row-wise op on `input`; null after an error.
mlir::Value convertRowOp(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value input,
                         Lookup lookup);

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTREGIONS_H
