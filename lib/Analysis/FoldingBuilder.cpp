//===- FoldingBuilder.cpp - integer arithmetic, folded as it is built -----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldingBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "pagefold/Support/LinearForm.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Folding makes a new constant each time; gives back the first one of the same value.
Value FoldingBuilder::uniqueConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return value;
  auto [known, isNew] = constants.try_emplace(constant.getValue(), value);
  if (!isNew && known->second != value && constant->use_empty())
    constant.erase();
  return known->second;
}

template <typename Op, typename... Args> Value FoldingBuilder::build(Args... args) {
  std::vector<const void *> key{TypeID::get<Op>().getAsOpaquePointer()};
  auto include = [&](auto arg) {
    if constexpr (std::is_same_v<decltype(arg), arith::CmpIPredicate>)
      key.push_back(reinterpret_cast<const void *>(static_cast<uintptr_t>(arg)));
    else // a value or a type
      key.push_back(arg.getAsOpaquePointer());
  };
  (include(args), ...);
  auto known = built.find(key);
  if (known != built.end())
    return known->second;
  Value value = uniqueConstant(builder.createOrFold<Op>(loc, args...));
  built.emplace(std::move(key), value);
  return value;
}

Value FoldingBuilder::broadcast(Value value, VectorType shape) {
  if (isa<VectorType>(value.getType()))
    return value;
  Type wanted = VectorType::get(shape.getShape(), value.getType());
  return build<vector::BroadcastOp>(wanted, value);
}

void FoldingBuilder::unifyShapes(Value &lhs, Value &rhs) {
  if (auto shape = dyn_cast<VectorType>(lhs.getType()))
    rhs = broadcast(rhs, shape);
  else if (auto shape = dyn_cast<VectorType>(rhs.getType()))
    lhs = broadcast(lhs, shape);
}

template <typename Op> Value FoldingBuilder::binary(Value lhs, Value rhs) {
  unifyShapes(lhs, rhs);
  return build<Op>(lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value FoldingBuilder::constant(int64_t value) {
  TypedAttr attr = builder.getIntegerAttr(type, value);
  Value &known = constants[attr];
  if (!known)
    known = arith::ConstantOp::create(builder, loc, attr);
  return known;
}

Value FoldingBuilder::boolean(bool value) {
  TypedAttr attr = builder.getBoolAttr(value);
  Value &known = constants[attr];
  if (!known)
    known = arith::ConstantOp::create(builder, loc, attr);
  return known;
}

Value FoldingBuilder::add(Value lhs, Value rhs) { return binary<arith::AddIOp>(lhs, rhs); }
Value FoldingBuilder::sub(Value lhs, Value rhs) { return binary<arith::SubIOp>(lhs, rhs); }
Value FoldingBuilder::max(Value lhs, Value rhs) { return binary<arith::MaxSIOp>(lhs, rhs); }
Value FoldingBuilder::min(Value lhs, Value rhs) { return binary<arith::MinSIOp>(lhs, rhs); }

// A scalar that decides nothing is not broadcast first.
Value FoldingBuilder::both(Value lhs, Value rhs) {
  if (matchPattern(lhs, m_One()))
    return rhs;
  return matchPattern(rhs, m_One()) ? lhs : binary<arith::AndIOp>(lhs, rhs);
}

Value FoldingBuilder::either(Value lhs, Value rhs) {
  if (matchPattern(lhs, m_Zero()))
    return rhs;
  return matchPattern(rhs, m_Zero()) ? lhs : binary<arith::OrIOp>(lhs, rhs);
}

Value FoldingBuilder::mul(Value value, int64_t factor) {
  if (factor == 1)
    return value;
  if (factor > 0 && llvm::isPowerOf2_64(factor))
    return binary<arith::ShLIOp>(value, constant(llvm::Log2_64(factor)));
  return binary<arith::MulIOp>(value, constant(factor));
}

Value FoldingBuilder::divideNonNegative(Value value, int64_t divisor) {
  if (divisor == 1)
    return value;
  if (llvm::isPowerOf2_64(divisor))
    return binary<arith::ShRSIOp>(value, constant(llvm::Log2_64(divisor)));
  return binary<arith::DivSIOp>(value, constant(divisor));
}

Value FoldingBuilder::floorDiv(Value value, int64_t divisor) {
  Value quotient = divideNonNegative(value, divisor);
  if (llvm::isPowerOf2_64(divisor)) // a shift rounds down already
    return quotient;
  Value remainder = sub(value, mul(quotient, divisor));
  Value roundedUp = compare(arith::CmpIPredicate::slt, remainder, constant(0));
  return select(roundedUp, sub(quotient, constant(1)), quotient);
}

Value FoldingBuilder::mod(Value value, int64_t divisor) {
  if (llvm::isPowerOf2_64(divisor))
    return binary<arith::AndIOp>(value, constant(divisor - 1));
  return sub(value, mul(floorDiv(value, divisor), divisor));
}

Value FoldingBuilder::compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
  unifyShapes(lhs, rhs);
  return build<arith::CmpIOp>(predicate, lhs, rhs);
}

Value FoldingBuilder::select(Value condition, Value ifTrue, Value ifFalse) {
  unifyShapes(ifTrue, ifFalse);
  if (auto shape = dyn_cast<VectorType>(ifTrue.getType()))
    condition = broadcast(condition, shape);
  return build<arith::SelectOp>(condition, ifTrue, ifFalse);
}

//===----------------------------------------------------------------------===//
// Affine expressions
//===----------------------------------------------------------------------===//

Value FoldingBuilder::affineTerm(AffineExpr term, const AffineOperands &operands) {
  if (auto dim = dyn_cast<AffineDimExpr>(term))
    return operands.dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(term))
    return operands.symbols[symbol.getPosition()];
  auto division = cast<AffineBinaryOpExpr>(term);
  Value dividend = affine(division.getLHS(), operands);
  int64_t divisor = cast<AffineConstantExpr>(division.getRHS()).getValue();
  return division.getKind() == AffineExprKind::Mod ? mod(dividend, divisor)
                                                   : floorDiv(dividend, divisor);
}

/// 0: the same for a whole request; 1: for a tile's rows; 2 and above: for an element, k last.
static unsigned variability(AffineExpr term, const AffineOperands &operands) {
  unsigned most = 0;
  term.walk([&](AffineExpr leaf) {
    if (auto dim = dyn_cast<AffineDimExpr>(leaf))
      most = std::max(most, 2 + dim.getPosition());
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(leaf))
      most = std::max(most, symbol.getPosition() < operands.numTileSymbols ? 1u : 0u);
  });
  return most;
}

Value FoldingBuilder::affine(AffineExpr expr, const AffineOperands &operands) {
  LinearForm form = *LinearForm::get(expr);
  // Least variable first, and something to subtract from before what is subtracted.
  std::map<std::pair<unsigned, bool>, SmallVector<LinearForm::Term>> groups;
  for (const LinearForm::Term &term : form.terms)
    groups[{variability(term.expr, operands), term.coefficient < 0}].push_back(term);

  Value sum;
  int64_t pending = form.constant; // added to what is the same for a whole request
  auto flush = [&] {
    if (sum && pending != 0) {
      sum = pending > 0 ? add(sum, constant(pending)) : sub(sum, constant(-pending));
      pending = 0;
    }
  };
  unsigned level = 0;
  for (const auto &[group, terms] : groups) {
    if (group.first != level)
      flush();
    level = group.first;
    for (const auto &[term, coefficient] : terms) {
      Value value = mul(affineTerm(term, operands), std::abs(coefficient));
      if (!sum && coefficient < 0) {
        sum = constant(pending);
        pending = 0;
      }
      sum = !sum ? value : coefficient > 0 ? add(sum, value) : sub(sum, value);
    }
  }
  flush();
  return sum ? sum : constant(pending);
}
