//===- Verifier.h - what the verifiers of attn.attention and attn.append share ===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_ATTN_IR_VERIFIER_H
#define PAGEFOLD_LIB_DIALECT_ATTN_IR_VERIFIER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace pagefold::attn {

/// A row-wise prologue, named by its clause: its block takes `rowType` and the captures, holds
/// row-wise ops, and yields a tensor of the shape of `rowType`. An empty region is fine.
mlir::LogicalResult verifyPrologue(mlir::Operation *op, llvm::StringRef clause,
                                   mlir::Region &region, mlir::RankedTensorType rowType,
                                   mlir::ValueRange captures);

/// A score or epilogue region: its block takes `fixedTypes` and the captures, holds ops of the
/// white list, and yields f32. An empty region is fine.
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, llvm::StringRef clause,
                                       mlir::Region &region, mlir::TypeRange fixedTypes,
                                       mlir::ValueRange captures);

/// The element type that a verified prologue yields; that of `rowType` where there is no prologue.
mlir::Type getPrologueElementType(mlir::Region &region, mlir::RankedTensorType rowType);

/// Whether two sizes can be the same number.
inline bool sizesAgree(int64_t a, int64_t b) {
  return mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b) || a == b;
}

} // namespace pagefold::attn

#endif // PAGEFOLD_LIB_DIALECT_ATTN_IR_VERIFIER_H
