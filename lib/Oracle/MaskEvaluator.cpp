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

void AffineEvaluator::append(AffineExpr expr) {
  Step step{expr.getKind(), 0};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    step.value = constant.getValue();
  else if (auto dim = dyn_cast<AffineDimExpr>(expr))
    step.value = dim.getPosition();
  else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    step.value = symbol.getPosition();
  else {
    append(cast<AffineBinaryOpExpr>(expr).getLHS());
    append(cast<AffineBinaryOpExpr>(expr).getRHS());
  }
  steps_.push_back(step);
}

static int64_t combine(AffineExprKind kind, int64_t a, int64_t b) {
  switch (kind) {
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

int64_t AffineEvaluator::evaluate(ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) const {
  SmallVector<int64_t, 16> stack;
  for (const Step &step : steps_) {
    switch (step.kind) {
    case AffineExprKind::Constant:
      stack.push_back(step.value);
      break;
    case AffineExprKind::DimId:
      stack.push_back(dims[step.value]);
      break;
    case AffineExprKind::SymbolId:
      stack.push_back(symbols[step.value]);
      break;
    default: {
      int64_t b = stack.pop_back_val();
      stack.back() = combine(step.kind, stack.back(), b);
    }
    }
  }
  return stack.back();
}

MaskEvaluator::MaskEvaluator(ArrayRef<IntegerSet> sets, std::vector<int64_t> symbols)
    : symbols_(std::move(symbols)) {
  for (IntegerSet set : sets) {
    std::vector<Constraint> &constraints = sets_.emplace_back();
    for (unsigned i = 0; i < set.getNumConstraints(); ++i)
      constraints.push_back({AffineEvaluator(set.getConstraint(i)), set.isEq(i)});
  }
}

bool MaskEvaluator::visible(ArrayRef<int64_t> dims) const {
  return llvm::any_of(sets_, [&](const std::vector<Constraint> &constraints) {
    return llvm::all_of(constraints, [&](const Constraint &constraint) {
      int64_t value = constraint.expr.evaluate(dims, symbols_);
      return constraint.equality ? value == 0 : value >= 0;
    });
  });
}
