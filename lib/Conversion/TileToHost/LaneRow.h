//===- LaneRow.h - a lane's part of a row -----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_LANEROW_H
#define PAGEFOLD_CONVERSION_TILETOHOST_LANEROW_H

#include "RowEmitter.h"
#include "SimtRows.h"

namespace pagefold::host {

/// The pieces of one row that a lane holds in registers, as f32.
class LaneRow {
public:
  /// Loads them: row (token, head) of `source`, [tokens, heads, dim].
  LaneRow(SimtKernel &kernel, mlir::Value source, mlir::Value token, mlir::Value head,
          const RowShare &share, mlir::Value lane);

  /// Applies a row region: rope, norm, row maps.
  void apply(mlir::Region &body, const RowPlace &place);

  /// Stores them from `where`, the indices of the row in `target`; divided by `scale`, if there is
  /// one.
  void store(mlir::Value target, mlir::ValueRange where, mlir::Value scale = {});

private:
  void apply(tile::RopeOp op, const RowPlace &place);
  void apply(tile::RmsNormOp op);
  void apply(tile::RowMapOp op, const RowPlace &place);
  HostBuilder::Values turned(tile::RopeOp op, mlir::Value position);
  HostBuilder::Values halvesTurned(tile::RopeOp op, mlir::Value position);
  HostBuilder::Values neighboursTurned(tile::RopeOp op, mlir::Value position);
  mlir::Value offset(size_t piece, int64_t width);
  mlir::Value load(mlir::Value buffer, mlir::ValueRange indices, int64_t elements);

  SimtKernel &kernel;
  HostBuilder &b;
  RowShare share;
  mlir::Value lane;
  HostBuilder::Values pieces;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_LANEROW_H
