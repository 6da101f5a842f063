//===- AffineText.cpp - affine expressions with names ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/AffineText.h"

using namespace mlir;
using namespace pagefold;

std::string AffineText::name(AffineExpr leaf) const {
  if (auto dim = dyn_cast<AffineDimExpr>(leaf))
    return dims[dim.getPosition()];
  return symbols[cast<AffineSymbolExpr>(leaf).getPosition()];
}

/// A leaf, or a division with its dividend in parentheses unless that is a leaf.
std::string AffineText::factor(AffineExpr term) const {
  auto division = dyn_cast<AffineBinaryOpExpr>(term);
  if (!division)
    return name(term);
  std::string text = (*this)(division.getLHS());
  if (isa<AffineBinaryOpExpr>(division.getLHS()))
    text = "(" + text + ")";
  int64_t divisor = cast<AffineConstantExpr>(division.getRHS()).getValue();
  StringRef op = division.getKind() == AffineExprKind::Mod ? " mod " : " floordiv ";
  return text + op.str() + std::to_string(divisor);
}

std::string AffineText::operator()(const LinearForm &form) const {
  std::string text;
  auto append = [&](bool negative, const std::string &piece) {
    if (text.empty())
      text = (negative ? "-" : "") + piece;
    else
      text += (negative ? " - " : " + ") + piece;
  };
  for (bool negative : {false, true})
    for (const LinearForm::Term &term : form.terms)
      if ((term.coefficient < 0) == negative) {
        int64_t times = std::abs(term.coefficient);
        std::string piece = factor(term.expr);
        if (times != 1)
          piece = std::to_string(times) + " * " +
                  (isa<AffineBinaryOpExpr>(term.expr) ? "(" + piece + ")" : piece);
        append(negative, piece);
      }
  if (form.constant != 0 || text.empty())
    append(form.constant < 0, std::to_string(std::abs(form.constant)));
  return text;
}

std::string AffineText::operator()(AffineExpr expr) const {
  return (*this)(*LinearForm::get(expr));
}
