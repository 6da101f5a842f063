//===- LinearForm.cpp - affine expressions as sums of terms ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/LinearForm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace pagefold;

/// Dims first, then symbols, then divisions by their text: an order that depends on nothing but the
/// expressions themselves.
static std::tuple<int, unsigned, std::string> orderKey(AffineExpr term) {
  if (auto dim = dyn_cast<AffineDimExpr>(term))
    return {0, dim.getPosition(), ""};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(term))
    return {1, symbol.getPosition(), ""};
  std::string text;
  llvm::raw_string_ostream(text) << term;
  return {2, 0, text};
}

bool LinearForm::addTerm(AffineExpr term, int64_t factor) {
  auto known = llvm::find_if(terms, [&](const Term &t) { return t.expr == term; });
  if (known != terms.end()) {
    if (llvm::AddOverflow(known->coefficient, factor, known->coefficient))
      return false;
    if (known->coefficient == 0)
      terms.erase(known);
    return true;
  }
  auto key = orderKey(term);
  auto place = llvm::find_if(terms, [&](const Term &t) { return orderKey(t.expr) > key; });
  terms.insert(place, {term, factor});
  return true;
}

bool LinearForm::addDivision(AffineBinaryOpExpr division, int64_t factor) {
  auto divisor = dyn_cast<AffineConstantExpr>(division.getRHS());
  std::optional<LinearForm> dividend = get(division.getLHS());
  if (!divisor || divisor.getValue() < 1 || !dividend)
    return false;
  int64_t by = divisor.getValue();
  AffineExpr rebuilt;
  AffineExprKind kind = division.getKind();
  if (kind == AffineExprKind::CeilDiv) {
    kind = AffineExprKind::FloorDiv;
    if (llvm::AddOverflow(dividend->constant, by - 1, dividend->constant))
      return false;
  }
  AffineExpr expr = dividend->toExpr(division.getContext());
  rebuilt = kind == AffineExprKind::Mod ? expr % by : expr.floorDiv(by);
  // The builders of AffineExpr simplify; what is no longer a division is collected anew.
  return rebuilt.getKind() == kind ? addTerm(rebuilt, factor) : add(rebuilt, factor);
}

bool LinearForm::add(AffineExpr expr, int64_t factor) {
  if (factor == 0)
    return true;
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t product;
    return !llvm::MulOverflow(value.getValue(), factor, product) &&
           !llvm::AddOverflow(constant, product, constant);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return addTerm(expr, factor);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return add(binary.getLHS(), factor) && add(binary.getRHS(), factor);
  case AffineExprKind::Mul: {
    auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
    int64_t product;
    return by && !llvm::MulOverflow(by.getValue(), factor, product) &&
           add(binary.getLHS(), product);
  }
  default:
    return addDivision(binary, factor);
  }
}

std::optional<LinearForm> LinearForm::get(AffineExpr expr) {
  LinearForm form;
  if (!form.add(expr, 1))
    return std::nullopt;
  return form;
}

AffineExpr LinearForm::toExpr(MLIRContext *context) const {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const Term &term : terms)
    sum = sum + term.expr * term.coefficient;
  return sum + constant;
}

int64_t LinearForm::coefficientOf(AffineExpr term) const {
  auto known = llvm::find_if(terms, [&](const Term &t) { return t.expr == term; });
  return known == terms.end() ? 0 : known->coefficient;
}

int64_t LinearForm::contentGcd() const {
  int64_t gcd = 0;
  for (const Term &term : terms)
    gcd = std::gcd(gcd, term.coefficient);
  return gcd;
}

void LinearForm::negate() {
  constant = -constant;
  for (Term &term : terms)
    term.coefficient = -term.coefficient;
}
