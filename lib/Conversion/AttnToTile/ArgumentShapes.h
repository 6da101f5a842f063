//===- ArgumentShapes.h - names for the dynamic sizes of arguments -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch plan says which dynamic sizes must agree: every [tokens, ...] argument has the same
// tokens, row offsets have batch + 1 entries, and so on. What a size means follows from the ops
// that use the argument.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_ATTNTOTILE_ARGUMENTSHAPES_H
#define PAGEFOLD_CONVERSION_ATTNTOTILE_ARGUMENTSHAPES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace pagefold {

/// One attribute for each dim: an i64 where static, else a string (a symbol, or symbol+1), else
/// unit.
mlir::ArrayAttr describeShape(mlir::Value tensor, llvm::StringRef name);

/// As above for a type all of whose dynamic dims are unknown but the first, which has `tokens`
/// rows.
mlir::ArrayAttr describeTokens(mlir::RankedTensorType type);

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_ATTNTOTILE_ARGUMENTSHAPES_H
