//===- RegionOps.h - what may stand in an attn region -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Score and epilogue regions hold scalars only, and ops of one white list, so that each op needs
// one row for the host and one for the GPU. docs/howto/add-an-epilogue-op.md walks through a new
// row.
//
// Prologues hold tensors, and ops that map row to row.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_REGIONOPS_H
#define PAGEFOLD_DIALECT_ATTN_IR_REGIONOPS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"

namespace pagefold::attn {

/// The names of the arith and math ops that score and epilogue regions may hold, sorted.
llvm::ArrayRef<llvm::StringLiteral> getScalarRegionOps();

/// The scalar types of score and epilogue regions: i1, i32, f32, and f16 and bf16 between
/// conversions.
bool isRegionScalar(mlir::Type type);

/// Whether `op` is of the white list and touches region scalars only. attn's own region ops
/// (attn.lookup, attn.position, attn.token) are not arith and not counted here.
bool isScalarRegionOp(mlir::Operation *op);

/// Whether an indexing map over [token, head, d] is a look-up: each result a loop or a constant >=
/// 0.
bool isLookupMap(mlir::AffineMap map);

/// Whether `op` maps each row of its input to a row of its result: attn.rope, attn.rms_norm, or a
/// linalg.generic with parallel loops over [token, head, d], look-ups for maps, the identity for
/// its result, and a body of the white list.
bool isRowWiseOp(mlir::Operation *op);

} // namespace pagefold::attn

#endif // PAGEFOLD_DIALECT_ATTN_IR_REGIONOPS_H
