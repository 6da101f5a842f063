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

private:
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

Value ElementMaskEmitter::emitConjunction(const Conjunction &conjunction) {
  AffineOperands operands{dims, symbols};
  MLIRContext *context = k.getContext();
  Value kValue = dims.back(), zero = b.constant(0);
  Value upper = b.sub(symbols[MaskSpace::kvLen], b.constant(1)), lower, others = b.boolean(true);
  for (const Constraint &constraint : conjunction) {
    LinearForm form = *LinearForm::get(constraint.expr);
    int64_t coefficient = form.coefficientOf(k);
    llvm::erase_if(form.terms, [&](const LinearForm::Term &term) { return term.expr == k; });
    AffineExpr rest = form.toExpr(context);
    bool boundsK = std::abs(coefficient) == 1 && !rest.isFunctionOfDim(mask.numDims() - 1);
    if (!boundsK || constraint.isEq) {
      auto predicate = constraint.isEq ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
      Value value = b.affine(constraint.expr, operands);
      others = b.both(others, b.compare(predicate, value, zero));
    } else if (coefficient < 0) {
      upper = b.min(upper, b.affine(rest, operands));
    } else if (rest != getAffineConstantExpr(0, context)) { // k >= 0 holds by contract
      Value bound = b.affine(-rest, operands);
      lower = lower ? b.max(lower, bound) : bound;
    }
  }
  Value visible = b.both(others, b.lessEqual(kValue, upper));
  return lower ? b.both(visible, b.lessEqual(lower, kValue)) : visible;
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
