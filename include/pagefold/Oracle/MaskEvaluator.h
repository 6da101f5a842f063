//===- MaskEvaluator.h - which keys a row sees ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_ORACLE_MASKEVALUATOR_H
#define PAGEFOLD_ORACLE_MASKEVALUATOR_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"

#include <cstdint>
#include <vector>

namespace pagefold::oracle {

/// An affine expression at given dims and symbols, by plain recursion. mod, floordiv and ceildiv
/// round as MLIR says; a divisor below 1, which MLIR leaves undefined, gives 0.
int64_t evaluateAffine(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims,
                       llvm::ArrayRef<int64_t> symbols);

/// A mask of one request: its symbols have values.
class MaskEvaluator {
public:
  /// `symbols` are q_len, kv_len, and the named ones in order.
  MaskEvaluator(llvm::ArrayRef<mlir::IntegerSet> sets, std::vector<int64_t> symbols)
      : sets_(sets), symbols_(std::move(symbols)) {}

  /// Whether some set holds `dims`: q, the row values, k. The caller keeps k in [0, kv_len).
  bool visible(llvm::ArrayRef<int64_t> dims) const;

private:
  llvm::ArrayRef<mlir::IntegerSet> sets_;
  std::vector<int64_t> symbols_;
};

} // namespace pagefold::oracle

#endif // PAGEFOLD_ORACLE_MASKEVALUATOR_H
