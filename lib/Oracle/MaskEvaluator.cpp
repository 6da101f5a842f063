//===- MaskEvaluator.cpp - which keys a row sees --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Oracle/MaskEvaluator.h"

using namespace mlir;
using namespace pagefold::oracle;

static int64_t floorDivide(int64_t a, int64_t b) {
  if (b < 1)
    return 0;
  return a / b - (a % b < 0);
}

int64_t pagefold::oracle::evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims,
                                         ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = oracle::evaluateAffine(binary.getLHS(), dims, symbols),
          b = oracle::evaluateAffine(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return floorDivide(a, b);
  case AffineExprKind::CeilDiv:
    return -floorDivide(-a, b);
  case AffineExprKind::Mod:
    return a - b * floorDivide(a, b);
  default:
    return 0;
  }
}

bool MaskEvaluator::visible(ArrayRef<int64_t> dims) const {
  return llvm::any_of(sets_, [&](IntegerSet set) {
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      int64_t value = evaluateAffine(set.getConstraint(i), dims, symbols_);
      if (set.isEq(i) ? value != 0 : value < 0)
        return false;
    }
    return true;
  });
}
