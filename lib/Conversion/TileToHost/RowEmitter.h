//===- RowEmitter.h - rope, norm and maps on one row ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_ROWEMITTER_H
#define PAGEFOLD_CONVERSION_TILETOHOST_ROWEMITTER_H

#include "Kernel.h"

namespace pagefold::host {

/// Where a row stands; all index values. `position` is signed and may be null where nothing asks
/// for it.
struct RowPlace {
  mlir::Value token, head, position;
};

/// The row of the tables that a row turns by; negative where it passes through: padding, or tables
/// without rows. A position past the tables is reported by the batch's check, or, where positions
/// are given by the caller, takes the last row.
mlir::Value ropePosition(Kernel &kernel, tile::RopeOp op, const RowPlace &place);

/// 1 / sqrt(sum / dim + eps), of the sum of the squares of a row.
mlir::Value rmsNormScale(HostBuilder &b, tile::RmsNormOp op, mlir::Value sum, int64_t dim);

/// Loads one row of a [tokens, heads, dim] buffer as f32 into `row` (scratch of the padded dim,
/// zero beyond it) and applies a row region (rope, norm, row maps) to it in place.
class RowEmitter {
public:
  /// Takes scratch for rows of `dim` elements.
  RowEmitter(Kernel &kernel, int64_t dim);
  mlir::Value row() const { return rowBuffer; }
  void load(mlir::Value source, const RowPlace &place, mlir::Region &region);

private:
  void emit(tile::RopeOp op, const RowPlace &place);
  void emit(tile::RmsNormOp op);
  void emit(tile::RowMapOp op, const RowPlace &place);
  void rotate(tile::RopeOp op, mlir::Value position);

  Kernel &kernel;
  HostBuilder &b;
  int64_t dim;
  mlir::Value rowBuffer;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_ROWEMITTER_H
