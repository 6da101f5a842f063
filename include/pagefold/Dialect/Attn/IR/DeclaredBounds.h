//===- DeclaredBounds.h - the maxima that a graph declares ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_DECLAREDBOUNDS_H
#define PAGEFOLD_DIALECT_ATTN_IR_DECLAREDBOUNDS_H

#include "pagefold/Dialect/Attn/IR/Attn.h"

namespace pagefold::attn {

/// On a function: an #attn.bounds, or a list of them for a graph that is compiled for each.
inline constexpr llvm::StringLiteral kBoundsName = "attn.bounds";
/// On a function that attn-expand-bounds made for one entry of the list: the graph's name.
inline constexpr llvm::StringLiteral kGraphName = "attn.graph";

/// What a function declares, in order; nothing where it declares none.
llvm::SmallVector<BoundsAttr> declaredBounds(mlir::Operation *function);

/// Whether each call within `inner` is within `outer` too.
bool holds(BoundsAttr outer, BoundsAttr inner);

/// Refuses an empty list, and an entry within one before it, which no call would ever take.
mlir::LogicalResult verifyBoundsList(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                     llvm::ArrayRef<BoundsAttr> list);

} // namespace pagefold::attn

#endif // PAGEFOLD_DIALECT_ATTN_IR_DECLAREDBOUNDS_H
