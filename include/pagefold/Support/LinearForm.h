//===- LinearForm.h - affine expressions as sums of terms -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An affine expression as constant + sum of coefficient x term, where a term is a dim, a symbol, or
// a division that does not simplify further. Terms stand in one fixed order, so that equal sums are
// equal forms. ceildiv is written as floordiv.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_LINEARFORM_H
#define PAGEFOLD_SUPPORT_LINEARFORM_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pagefold {

struct LinearForm {
  struct Term {
    mlir::AffineExpr expr;
    int64_t coefficient; ///< never 0
  };
  llvm::SmallVector<Term> terms;
  int64_t constant = 0;

  /// The form of `expr`; nothing where a coefficient leaves 64 bits or a product or divisor is not
  /// constant.
  static std::optional<LinearForm> get(mlir::AffineExpr expr);
  mlir::AffineExpr toExpr(mlir::MLIRContext *context) const;
  int64_t coefficientOf(mlir::AffineExpr term) const;
  /// Greatest common divisor of the coefficients; 0 without terms.
  int64_t contentGcd() const;
  void negate();

private:
  bool add(mlir::AffineExpr expr, int64_t factor);
  bool addTerm(mlir::AffineExpr term, int64_t factor);
  bool addDivision(mlir::AffineBinaryOpExpr division, int64_t factor);
};

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_LINEARFORM_H
