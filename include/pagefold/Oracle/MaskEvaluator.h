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

/// An affine expression in postfix order, since a mask is evaluated for every pair of query and
/// key. mod, floordiv and ceildiv round as MLIR says; a divisor below 1, which MLIR leaves
/// undefined, gives 0.
class AffineEvaluator {
public:
  explicit AffineEvaluator(mlir::AffineExpr expr) { append(expr); }
  int64_t evaluate(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> symbols) const;

private:
  struct Step {
    mlir::AffineExprKind kind;
    int64_t value = 0; ///< the constant, or the position of the dim or symbol
  };
  void append(mlir::AffineExpr expr);
  std::vector<Step> steps_;
};

/// A mask of one request: its symbols have values.
class MaskEvaluator {
public:
  /// `symbols` are q_len, kv_len, and the named ones in order.
  MaskEvaluator(llvm::ArrayRef<mlir::IntegerSet> sets, std::vector<int64_t> symbols);

  /// Whether some set holds `dims`: q, the row values, k. The caller keeps k in [0, kv_len).
  bool visible(llvm::ArrayRef<int64_t> dims) const;

private:
  struct Constraint {
    AffineEvaluator expr;
    bool equality; ///< expr = 0, else expr >= 0
  };
  std::vector<std::vector<Constraint>> sets_;
  std::vector<int64_t> symbols_;
};

} // namespace pagefold::oracle

#endif // PAGEFOLD_ORACLE_MASKEVALUATOR_H
