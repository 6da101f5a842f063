//===- Conditions.cpp - affine conditions in disjunctive normal form ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/Conditions.h"

using namespace mlir;
using namespace pagefold;

Conditions pagefold::conjoin(const Conditions &lhs, const Conditions &rhs) {
  Conditions product;
  for (const Conjunction &left : lhs)
    for (const Conjunction &right : rhs) {
      product.push_back(left);
      product.back().append(right);
    }
  return product;
}

Conditions pagefold::disjoin(Conditions lhs, const Conditions &rhs) {
  lhs.append(rhs);
  return lhs;
}

Conjunction pagefold::toConjunction(IntegerSet set) {
  Conjunction conjunction;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i)
    conjunction.push_back({set.getConstraint(i), set.isEq(i)});
  return conjunction;
}

IntegerSet pagefold::toIntegerSet(const Conjunction &conjunction, unsigned numDims,
                                  unsigned numSymbols) {
  SmallVector<AffineExpr> exprs;
  SmallVector<bool> eqFlags;
  for (const Constraint &constraint : conjunction) {
    exprs.push_back(constraint.expr);
    eqFlags.push_back(constraint.isEq);
  }
  return IntegerSet::get(numDims, numSymbols, exprs, eqFlags);
}
