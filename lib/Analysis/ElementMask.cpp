//===- ElementMask.cpp - the element predicate of a mask as IR ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A constraint that bounds k by what does not depend on k joins the other bounds of its side in one
// maximum or minimum: where only k is a vector those stay scalar, and one comparison a side
// remains.
//
//===----------------------------------------------------------------------===//

#include "FoldingBuilder.h"
#include "pagefold/Analysis/TileVisits.h"
#include "pagefold/Support/Conditions.h"
#include "pagefold/Support/LinearForm.h"

using namespace mlir;
using namespace pagefold;

namespace {

class ElementMaskEmitter {
public:
  ElementMaskEmitter(OpBuilder &builder, Location loc, const MaskSets &mask, const MaskPoint &point,
                     const VisitContext &context);
  Value emit();
  /// The keys of the only conjunction as one interval, if they are one.
  std::optional<RowInterval> emitInterval();

private:
  /// What a conjunction says of k: lower <= k <= upper (lower null: 0), and that `others` hold.
  struct KeyBounds {
    Value lower, upper, others;
  };
  KeyBounds emitBounds(const Conjunction &conjunction);
  /// The rest of a constraint on k with coefficient 1 or -1 that says nothing else of k; else null.
  AffineExpr boundOfK(const Constraint &constraint, int64_t &coefficient);
  Value emitConjunction(const Conjunction &conjunction);

  FoldingBuilder b;
  const MaskSets &mask;
  SmallVector<Value> dims, symbols;
  AffineExpr k;
};

} // namespace

ElementMaskEmitter::ElementMaskEmitter(OpBuilder &builder, Location loc, const MaskSets &mask,
                                       const MaskPoint &point, const VisitContext &context)
    : b(builder, loc, context.kvLen.getType()), mask(mask),
      k(getAffineDimExpr(mask.numDims() - 1, builder.getContext())) {
  dims.push_back(point.q);
  dims.append(point.rows);
  dims.push_back(point.k);
  symbols = {context.qLen, context.kvLen};
  symbols.append(context.symbols);
  assert(dims.size() == mask.numDims() && symbols.size() == mask.numSymbols());
}

AffineExpr ElementMaskEmitter::boundOfK(const Constraint &constraint, int64_t &coefficient) {
  LinearForm form = *LinearForm::get(constraint.expr);
  coefficient = form.coefficientOf(k);
  llvm::erase_if(form.terms, [&](const LinearForm::Term &term) { return term.expr == k; });
  AffineExpr rest = form.toExpr(k.getContext());
  bool bounds = std::abs(coefficient) == 1 && !rest.isFunctionOfDim(mask.numDims() - 1);
  return bounds && !constraint.isEq ? rest : AffineExpr();
}

ElementMaskEmitter::KeyBounds ElementMaskEmitter::emitBounds(const Conjunction &conjunction) {
  AffineOperands operands{dims, symbols};
  Value upper = b.sub(symbols[MaskSpace::kvLen], b.constant(1)), lower, others = b.boolean(true);
  for (const Constraint &constraint : conjunction) {
    int64_t coefficient;
    AffineExpr rest = boundOfK(constraint, coefficient);
    if (!rest) {
      auto predicate = constraint.isEq ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
      Value value = b.affine(constraint.expr, operands);
      others = b.both(others, b.compare(predicate, value, b.constant(0)));
    } else if (coefficient < 0) {
      upper = b.min(upper, b.affine(rest, operands));
    } else if (rest != getAffineConstantExpr(0, k.getContext())) { // k >= 0 holds by contract
      Value bound = b.affine(-rest, operands);
      lower = lower ? b.max(lower, bound) : bound;
    }
  }
  return {lower, upper, others};
}

Value ElementMaskEmitter::emitConjunction(const Conjunction &conjunction) {
  Value kValue = dims.back();
  auto [lower, upper, others] = emitBounds(conjunction);
  Value visible = b.both(others, b.lessEqual(kValue, upper));
  return lower ? b.both(visible, b.lessEqual(lower, kValue)) : visible;
}

std::optional<RowInterval> ElementMaskEmitter::emitInterval() {
  if (mask.sets.size() != 1)
    return std::nullopt;
  Conjunction conjunction = toConjunction(mask.sets.front());
  int64_t coefficient;
  for (const Constraint &constraint : conjunction)
    if (constraint.expr.isFunctionOfDim(mask.numDims() - 1) && !boundOfK(constraint, coefficient))
      return std::nullopt;
  auto [lower, upper, others] = emitBounds(conjunction);
  Value below = b.add(upper, b.constant(1));
  return RowInterval{lower, b.select(others, below, b.constant(0))};
}

Value ElementMaskEmitter::emit() {
  Value visible = b.boolean(false);
  for (IntegerSet set : mask.sets)
    visible = b.either(visible, emitConjunction(toConjunction(set)));
  return visible;
}

Value pagefold::emitVisible(OpBuilder &builder, Location loc, const MaskSets &mask,
                            const MaskPoint &point, const VisitContext &context) {
  return ElementMaskEmitter(builder, loc, mask, point, context).emit();
}

std::optional<RowInterval> pagefold::emitRowInterval(OpBuilder &builder, Location loc,
                                                     const MaskSets &mask, const MaskPoint &point,
                                                     const VisitContext &context) {
  return ElementMaskEmitter(builder, loc, mask, point, context).emitInterval();
}
