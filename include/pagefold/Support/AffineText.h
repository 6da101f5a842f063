//===- AffineText.h - affine expressions with names -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_AFFINETEXT_H
#define PAGEFOLD_SUPPORT_AFFINETEXT_H

#include "pagefold/Support/LinearForm.h"
#include <string>

namespace pagefold {

/// Writes affine expressions as sums, with names for dims and symbols: `q + kv_len - q_len - 1`.
/// The names must outlive it.
class AffineText {
public:
  AffineText(llvm::ArrayRef<std::string> dims, llvm::ArrayRef<std::string> symbols)
      : dims(dims), symbols(symbols) {}

  /// Requires an expression that LinearForm::get accepts.
  std::string operator()(mlir::AffineExpr expr) const;
  /// Positive terms first, then negative ones, then the constant.
  std::string operator()(const LinearForm &form) const;

private:
  std::string factor(mlir::AffineExpr term) const;
  std::string name(mlir::AffineExpr leaf) const;

  llvm::ArrayRef<std::string> dims, symbols;
};

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_AFFINETEXT_H
