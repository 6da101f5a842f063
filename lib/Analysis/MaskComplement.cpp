//===- MaskComplement.cpp - what a mask hides -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskComplement.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pagefold;

/// not (e >= 0) is -e - 1 >= 0; not (e == 0) is that or e - 1 >= 0.
static SmallVector<Constraint, 2> negate(const Constraint &constraint) {
  SmallVector<Constraint, 2> alternatives{{-constraint.expr - 1}};
  if (constraint.isEq)
    alternatives.push_back({constraint.expr - 1});
  return alternatives;
}

static Conjunction within(const TileSpace &space, const Conjunction &conjunction) {
  Conjunction boxed = conjunction;
  boxed.append(space.rowBox());
  boxed.push_back({space.k()});
  return boxed;
}

/// Whether every point of `inner` satisfies `outer`, whose constraints are inequalities.
static bool isSubset(const TileSpace &space, const Conjunction &inner, const Conjunction &outer) {
  return llvm::all_of(outer, [&](const Constraint &constraint) {
    if (llvm::is_contained(inner, constraint))
      return true;
    Conjunction counterexample = within(space, inner);
    counterexample.push_back({-constraint.expr - 1});
    return space.isEmpty(counterexample);
  });
}

static void dropSubsets(const TileSpace &space, Conditions &conditions) {
  for (size_t i = 0; i < conditions.size();) {
    bool covered = false;
    for (size_t j = 0; j < conditions.size() && !covered; ++j)
      covered = i != j && isSubset(space, conditions[i], conditions[j]);
    if (covered)
      conditions.erase(conditions.begin() + i);
    else
      ++i;
  }
}

/// Adds to every branch each negated constraint of one more conjunction.
static Conditions branch(const TileSpace &space, const Conditions &branches,
                         const Conjunction &conjunction) {
  Conditions next;
  for (const Conjunction &sofar : branches)
    for (const Constraint &constraint : conjunction)
      for (const Constraint &negated : negate(constraint)) {
        Conjunction longer = sofar;
        if (!llvm::is_contained(longer, negated))
          longer.push_back(negated);
        if (!llvm::is_contained(next, longer) && !space.isEmpty(within(space, longer)))
          next.push_back(longer);
      }
  return next;
}

std::optional<Conditions> pagefold::hiddenKeys(const TileSpace &space,
                                               ArrayRef<Conjunction> visible, size_t maxDisjuncts) {
  Conditions branches(1);
  for (const Conjunction &conjunction : visible) {
    branches = branch(space, branches, conjunction);
    dropSubsets(space, branches);
    if (branches.size() > maxDisjuncts)
      return std::nullopt;
  }
  branches.push_back({{space.k() - space.kvLen()}});
  dropSubsets(space, branches);
  for (Conjunction &conjunction : branches)
    conjunction.push_back({space.k()});
  return branches;
}
