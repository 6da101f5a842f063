//===- Conditions.h - affine conditions in disjunctive normal form -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_CONDITIONS_H
#define PAGEFOLD_SUPPORT_CONDITIONS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/SmallVector.h"

namespace pagefold {

/// expr >= 0, or expr == 0.
struct Constraint {
  mlir::AffineExpr expr;
  bool isEq = false;
  bool operator==(const Constraint &) const = default;
};
using Conjunction = llvm::SmallVector<Constraint>;
/// A disjunction of conjunctions.
using Conditions = llvm::SmallVector<Conjunction>;

Conditions conjoin(const Conditions &lhs, const Conditions &rhs);
Conditions disjoin(Conditions lhs, const Conditions &rhs);

Conjunction toConjunction(mlir::IntegerSet set);
/// Requires at least one constraint.
mlir::IntegerSet toIntegerSet(const Conjunction &conjunction, unsigned numDims,
                              unsigned numSymbols);

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_CONDITIONS_H
