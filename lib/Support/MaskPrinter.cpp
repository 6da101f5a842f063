//===- MaskPrinter.cpp - prints a mask as a person would write it ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/AffineText.h"
#include "pagefold/Support/Conditions.h"
#include "pagefold/Support/MaskSets.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pagefold;

/// Prints sum >= 0 as `left >= right`, with k alone on the left where it occurs once, and without
/// minus signs where it does not.
static void printConstraint(raw_ostream &os, const Constraint &constraint, unsigned kDim,
                            const AffineText &text) {
  LinearForm form = *LinearForm::get(constraint.expr);
  auto usesK = [&](const LinearForm::Term &term) { return term.expr.isFunctionOfDim(kDim); };
  bool isolate = llvm::count_if(form.terms, usesK) == 1;
  bool flip = isolate && llvm::find_if(form.terms, usesK)->coefficient < 0;
  if (flip)
    form.negate();
  LinearForm left, right;
  for (const LinearForm::Term &term : form.terms)
    ((isolate ? usesK(term) : term.coefficient > 0) ? left : right).terms.push_back(term);
  right.constant = form.constant;
  right.negate();
  os << text(left) << (constraint.isEq ? " == " : flip ? " <= " : " >= ") << text(right);
}

static void printDeclarations(raw_ostream &os, const MaskSets &mask) {
  SmallVector<std::string> declarations;
  for (auto [name, bound] : llvm::zip(mask.symbols, mask.lowerBounds))
    declarations.push_back(bound == kNoLowerBound ? name : name + " >= " + std::to_string(bound));
  for (const std::string &name : mask.rowVars)
    declarations.push_back(name + " per_row");
  if (!declarations.empty())
    os << " where " << llvm::join(declarations, ", ");
}

void pagefold::printMaskSets(raw_ostream &os, const MaskSets &mask) {
  SmallVector<std::string> dims{"q"}, symbols{"q_len", "kv_len"};
  dims.append(mask.rowVars.begin(), mask.rowVars.end());
  dims.push_back("k");
  symbols.append(mask.symbols.begin(), mask.symbols.end());
  AffineText text(dims, symbols);
  auto printSet = [&](IntegerSet set) {
    llvm::interleave(
        toConjunction(set),
        [&](const Constraint &constraint) {
          printConstraint(os, constraint, mask.numDims() - 1, text);
        },
        [&] { os << " and "; });
  };
  llvm::interleave(mask.sets, printSet, [&] { os << " or "; });
  printDeclarations(os, mask);
}

std::string pagefold::maskText(const MaskSets &mask) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printMaskSets(os, mask);
  return text;
}
