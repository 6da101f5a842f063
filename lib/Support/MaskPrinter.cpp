//===- MaskPrinter.cpp - prints a mask as a person would write it ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/LinearForm.h"
#include "pagefold/Support/MaskSets.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pagefold;

namespace {

/// Prints the constraints of one mask: sum >= 0 becomes `left >= right`, k alone on the left where
/// it occurs once.
class ConstraintPrinter {
public:
  ConstraintPrinter(raw_ostream &os, const MaskSets &mask) : os(os), mask(mask) {}
  void print(AffineExpr expr, bool isEq);

private:
  using Terms = SmallVector<LinearForm::Term>;
  std::string sum(const Terms &terms, int64_t constant) const;
  std::string factor(AffineExpr expr) const;
  std::string name(AffineExpr leaf) const;

  raw_ostream &os;
  const MaskSets &mask;
};

} // namespace

std::string ConstraintPrinter::name(AffineExpr leaf) const {
  if (auto dim = dyn_cast<AffineDimExpr>(leaf)) {
    if (dim.getPosition() == MaskSpace::q)
      return "q";
    return dim.getPosition() + 1 == mask.numDims()
               ? "k"
               : mask.rowVars[dim.getPosition() - MaskSpace::firstRowVar];
  }
  unsigned position = cast<AffineSymbolExpr>(leaf).getPosition();
  if (position == MaskSpace::qLen)
    return "q_len";
  return position == MaskSpace::kvLen ? "kv_len" : mask.symbols[position - MaskSpace::firstSymbol];
}

/// A leaf, or a division with its dividend in parentheses unless that is a leaf.
std::string ConstraintPrinter::factor(AffineExpr expr) const {
  auto division = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!division)
    return name(expr);
  LinearForm dividend = *LinearForm::get(division.getLHS());
  std::string text = sum(Terms(dividend.terms), dividend.constant);
  if (isa<AffineBinaryOpExpr>(division.getLHS()))
    text = "(" + text + ")";
  int64_t divisor = cast<AffineConstantExpr>(division.getRHS()).getValue();
  StringRef op = division.getKind() == AffineExprKind::Mod ? " mod " : " floordiv ";
  return text + op.str() + std::to_string(divisor);
}

/// Positive terms first, then negative ones, then the constant.
std::string ConstraintPrinter::sum(const Terms &terms, int64_t constant) const {
  std::string text;
  auto append = [&](bool negative, const std::string &piece) {
    if (text.empty())
      text = (negative ? "-" : "") + piece;
    else
      text += (negative ? " - " : " + ") + piece;
  };
  for (bool negative : {false, true})
    for (const LinearForm::Term &term : terms)
      if ((term.coefficient < 0) == negative) {
        int64_t times = std::abs(term.coefficient);
        bool division = isa<AffineBinaryOpExpr>(term.expr);
        std::string piece = factor(term.expr);
        if (times != 1)
          piece = std::to_string(times) + " * " + (division ? "(" + piece + ")" : piece);
        append(negative, piece);
      }
  if (constant != 0 || text.empty())
    append(constant < 0, std::to_string(std::abs(constant)));
  return text;
}

void ConstraintPrinter::print(AffineExpr expr, bool isEq) {
  LinearForm form = *LinearForm::get(expr);
  unsigned kDim = mask.numDims() - 1;
  auto usesK = [&](const LinearForm::Term &term) { return term.expr.isFunctionOfDim(kDim); };
  auto negated = [](LinearForm::Term term) {
    return LinearForm::Term{term.expr, -term.coefficient};
  };
  Terms left, right;
  bool flip = false; // whether left <= right rather than left >= right
  int64_t constant = -form.constant;
  if (llvm::count_if(form.terms, usesK) == 1) {
    flip = llvm::find_if(form.terms, usesK)->coefficient < 0;
    for (const LinearForm::Term &term : form.terms)
      (usesK(term) ? left : right).push_back(usesK(term) == flip ? negated(term) : term);
    if (flip)
      constant = -constant;
  } else {
    for (const LinearForm::Term &term : form.terms)
      term.coefficient > 0 ? left.push_back(term) : right.push_back(negated(term));
  }
  os << sum(left, 0) << (isEq ? " == " : flip ? " <= " : " >= ") << sum(right, constant);
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
  ConstraintPrinter printer(os, mask);
  llvm::interleave(
      mask.sets,
      [&](IntegerSet set) {
        for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
          os << (i ? " and " : "");
          printer.print(set.getConstraint(i), set.isEq(i));
        }
      },
      [&] { os << " or "; });
  printDeclarations(os, mask);
}

std::string pagefold::maskText(const MaskSets &mask) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printMaskSets(os, mask);
  return text;
}
