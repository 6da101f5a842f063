//===- FoldingBuilder.h - integer arithmetic, folded as it is built -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds arith ops on one integer type. Constants fold, equal computations are built once, powers
// of two become shifts, and a scalar that meets a vector is broadcast.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_FOLDINGBUILDER_H
#define PAGEFOLD_LIB_ANALYSIS_FOLDINGBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace pagefold {

/// What dims and symbols of an affine expression stand for.
struct AffineOperands {
  llvm::ArrayRef<mlir::Value> dims, symbols;
  /// Symbols that differ from tile to tile. They are added last, so that what is the same for a
  /// whole request is computed once.
  unsigned numTileSymbols = 0;
};

class FoldingBuilder {
public:
  /// `type` is index or a signless integer.
  FoldingBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type)
      : builder(builder), loc(loc), type(type) {}

  mlir::Value constant(int64_t value);
  mlir::Value boolean(bool value);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value value, int64_t factor);
  mlir::Value max(mlir::Value lhs, mlir::Value rhs);
  mlir::Value min(mlir::Value lhs, mlir::Value rhs);
  /// Rounds down, for any sign.
  mlir::Value floorDiv(mlir::Value value, int64_t divisor);
  /// In [0, divisor), for any sign.
  mlir::Value mod(mlir::Value value, int64_t divisor);
  /// One instruction; rounds down for value >= 0, and gives 0 or less otherwise.
  mlir::Value divideNonNegative(mlir::Value value, int64_t divisor);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value lhs, mlir::Value rhs);
  mlir::Value lessEqual(mlir::Value lhs, mlir::Value rhs) {
    return compare(mlir::arith::CmpIPredicate::sle, lhs, rhs);
  }
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value either(mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value ifTrue, mlir::Value ifFalse);

  /// Requires an expression that LinearForm::get accepts.
  mlir::Value affine(mlir::AffineExpr expr, const AffineOperands &operands);

private:
  template <typename Op, typename... Args> mlir::Value build(Args... args);
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs);
  void unifyShapes(mlir::Value &lhs, mlir::Value &rhs);
  mlir::Value broadcast(mlir::Value value, mlir::VectorType shape);
  mlir::Value uniqueConstant(mlir::Value value);
  mlir::Value affineTerm(mlir::AffineExpr term, const AffineOperands &operands);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  std::map<std::vector<const void *>, mlir::Value> built; ///< by op, predicate, operands
};

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_FOLDINGBUILDER_H
