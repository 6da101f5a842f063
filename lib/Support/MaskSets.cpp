//===- MaskSets.cpp - masks as unions of integer sets ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/MaskSets.h"
#include "MaskConditions.h"
#include "pagefold/Support/LinearForm.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

MaskTerms::MaskTerms(MLIRContext *context, unsigned numRowVars)
    : q(getAffineDimExpr(MaskSpace::q, context)),
      k(getAffineDimExpr(MaskSpace::firstRowVar + numRowVars, context)),
      qLen(getAffineSymbolExpr(MaskSpace::qLen, context)),
      kvLen(getAffineSymbolExpr(MaskSpace::kvLen, context)), position(q + kvLen - qLen) {}

static IntegerSet setOf(const MaskSets &mask, const Conjunction &conjunction) {
  return toIntegerSet(conjunction, mask.numDims(), mask.numSymbols());
}

void pagefold::setConditions(MaskSets &mask, const Conditions &conditions, MLIRContext *context) {
  mask.sets.clear();
  for (const Conjunction &conjunction : conditions)
    mask.sets.push_back(setOf(mask, conjunction));
  canonicalizeMaskSets(mask);
}

//===----------------------------------------------------------------------===//
// Canonical form
//===----------------------------------------------------------------------===//

/// Divides by the common divisor of the coefficients (over integers, an inequality's constant may
/// be rounded down) and gives equalities the sign that makes k, or else the first term, positive.
static Constraint canonicalConstraint(Constraint constraint, AffineExpr k) {
  MLIRContext *context = constraint.expr.getContext();
  // toExpr may fold terms into new ones (x - 4 (x floordiv 4) into x mod 4); few rounds settle it.
  for (int round = 0; round < 4; ++round) {
    std::optional<LinearForm> form = LinearForm::get(constraint.expr);
    if (!form)
      return constraint; // verifyMaskSets reports it
    int64_t gcd = form->contentGcd();
    if (gcd > 1 && (!constraint.isEq || form->constant % gcd == 0)) {
      for (LinearForm::Term &term : form->terms)
        term.coefficient /= gcd;
      form->constant = llvm::divideFloorSigned(form->constant, gcd);
    }
    if (constraint.isEq && !form->terms.empty()) {
      int64_t lead = form->coefficientOf(k);
      if ((lead ? lead : form->terms.front().coefficient) < 0)
        form->negate();
    }
    AffineExpr next = form->toExpr(context);
    if (next == constraint.expr)
      break;
    constraint.expr = next;
  }
  return constraint;
}

static std::optional<bool> constantTruth(const Constraint &constraint) {
  auto value = dyn_cast<AffineConstantExpr>(constraint.expr);
  if (!value)
    return std::nullopt;
  return constraint.isEq ? value.getValue() == 0 : value.getValue() >= 0;
}

/// Nothing if no point satisfies the conjunction. Drops what always holds, `k >= 0` included; an
/// otherwise empty conjunction is written `k >= 0`.
static std::optional<Conjunction> canonicalConjunction(const Conjunction &conjunction,
                                                       AffineExpr k) {
  Conjunction result;
  for (Constraint constraint : conjunction) {
    constraint = canonicalConstraint(constraint, k);
    std::optional<bool> truth = constantTruth(constraint);
    if (truth && !*truth)
      return std::nullopt;
    bool implicit = !constraint.isEq && constraint.expr == k;
    if (!truth && !implicit && !llvm::is_contained(result, constraint))
      result.push_back(constraint);
  }
  if (result.empty())
    result.push_back({k});
  return result;
}

void pagefold::canonicalizeMaskSets(MaskSets &mask) {
  if (mask.sets.empty())
    return;
  MLIRContext *context = mask.sets.front().getContext();
  AffineExpr k = getAffineDimExpr(mask.numDims() - 1, context);
  SmallVector<IntegerSet> canonical;
  for (IntegerSet set : mask.sets)
    if (auto conjunction = canonicalConjunction(toConjunction(set), k)) {
      IntegerSet next = setOf(mask, *conjunction);
      if (!llvm::is_contained(canonical, next))
        canonical.push_back(next);
    }
  if (canonical.empty()) // nothing is ever visible
    canonical.push_back(setOf(mask, {{getAffineConstantExpr(-1, context)}}));
  mask.sets = std::move(canonical);
}

llvm::hash_code pagefold::hash_value(const MaskSets &mask) {
  llvm::hash_code sets = llvm::hash_combine_range(mask.sets);
  llvm::hash_code symbols = llvm::hash_combine_range(mask.symbols);
  llvm::hash_code bounds = llvm::hash_combine_range(mask.lowerBounds);
  return llvm::hash_combine(sets, symbols, bounds, llvm::hash_combine_range(mask.rowVars));
}

//===----------------------------------------------------------------------===//
// Combining masks
//===----------------------------------------------------------------------===//

static unsigned indexOf(ArrayRef<std::string> names, StringRef name) {
  return llvm::find(names, name) - names.begin();
}

/// The names of both masks, without sets.
static MaskSets joinNames(const MaskSets &lhs, const MaskSets &rhs) {
  MaskSets joined;
  for (const MaskSets *mask : {&lhs, &rhs}) {
    for (const std::string &name : mask->rowVars)
      if (!llvm::is_contained(joined.rowVars, name))
        joined.rowVars.push_back(name);
    for (auto [name, bound] : llvm::zip(mask->symbols, mask->lowerBounds)) {
      unsigned index = indexOf(joined.symbols, name);
      if (index == joined.symbols.size()) {
        joined.symbols.push_back(name);
        joined.lowerBounds.push_back(bound);
      }
      joined.lowerBounds[index] = std::max(joined.lowerBounds[index], bound);
    }
  }
  return joined;
}

/// The conditions of `mask` over the names of `joined`.
static Conditions conditionsIn(const MaskSets &joined, const MaskSets &mask) {
  MLIRContext *context = mask.sets.front().getContext();
  SmallVector<AffineExpr> dims, symbols;
  dims.push_back(getAffineDimExpr(MaskSpace::q, context));
  for (const std::string &name : mask.rowVars)
    dims.push_back(
        getAffineDimExpr(MaskSpace::firstRowVar + indexOf(joined.rowVars, name), context));
  dims.push_back(getAffineDimExpr(joined.numDims() - 1, context));
  symbols.push_back(getAffineSymbolExpr(MaskSpace::qLen, context));
  symbols.push_back(getAffineSymbolExpr(MaskSpace::kvLen, context));
  for (const std::string &name : mask.symbols)
    symbols.push_back(
        getAffineSymbolExpr(MaskSpace::firstSymbol + indexOf(joined.symbols, name), context));

  Conditions conditions;
  for (IntegerSet set : mask.sets) {
    conditions.push_back(toConjunction(set));
    for (Constraint &constraint : conditions.back())
      constraint.expr = constraint.expr.replaceDimsAndSymbols(dims, symbols);
  }
  return conditions;
}

MaskSets pagefold::intersectMasks(const MaskSets &lhs, const MaskSets &rhs) {
  MaskSets mask = joinNames(lhs, rhs);
  setConditions(mask, conjoin(conditionsIn(mask, lhs), conditionsIn(mask, rhs)),
                lhs.sets.front().getContext());
  return mask;
}

MaskSets pagefold::uniteMasks(const MaskSets &lhs, const MaskSets &rhs) {
  MaskSets mask = joinNames(lhs, rhs);
  setConditions(mask, disjoin(conditionsIn(mask, lhs), conditionsIn(mask, rhs)),
                lhs.sets.front().getContext());
  return mask;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

bool pagefold::fitsThirtyTwoBits(AffineExpr expr) {
  std::optional<LinearForm> form = LinearForm::get(expr);
  if (!form || !llvm::isInt<32>(form->constant))
    return false;
  return llvm::all_of(form->terms, [](const LinearForm::Term &term) {
    auto division = dyn_cast<AffineBinaryOpExpr>(term.expr);
    return llvm::isInt<32>(term.coefficient) &&
           (!division || (fitsThirtyTwoBits(division.getLHS()) &&
                          llvm::isInt<32>(cast<AffineConstantExpr>(division.getRHS()).getValue())));
  });
}

static LogicalResult verifyNames(function_ref<InFlightDiagnostic()> emitError,
                                 const MaskSets &mask) {
  llvm::StringSet<> seen;
  for (const auto *names : {&mask.symbols, &mask.rowVars})
    for (StringRef name : *names) {
      if (!isMaskName(name))
        return emitError() << "mask symbol expects a name that is not a word of the mask syntax, "
                              "got '"
                           << name << "'";
      if (!seen.insert(name).second)
        return emitError() << "mask symbols expect distinct names, got '" << name << "' twice";
    }
  if (mask.symbols.size() != mask.lowerBounds.size())
    return emitError() << "mask expects one lower bound for each of its " << mask.symbols.size()
                       << " symbols, got " << mask.lowerBounds.size();
  return success();
}

LogicalResult pagefold::verifyMaskSets(function_ref<InFlightDiagnostic()> emitError,
                                       const MaskSets &mask) {
  if (mask.sets.empty())
    return emitError() << "mask expects at least one set";
  if (failed(verifyNames(emitError, mask)))
    return failure();
  for (IntegerSet set : mask.sets) {
    if (set.getNumDims() != mask.numDims() || set.getNumSymbols() != mask.numSymbols())
      return emitError() << "mask set expects " << mask.numDims() << " dims and "
                         << mask.numSymbols() << " symbols, got " << set.getNumDims() << " and "
                         << set.getNumSymbols();
    for (AffineExpr expr : set.getConstraints()) {
      if (!expr.isPureAffine())
        return emitError() << "mask expects affine conditions, got the product or quotient of two "
                              "values that are not constant";
      if (!fitsThirtyTwoBits(expr))
        return emitError() << "mask expects coefficients and constants that fit 32 bits and "
                              "divisors of at least 1, got a larger or smaller one";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

int64_t pagefold::evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims,
                                 ArrayRef<int64_t> symbols) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return value.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluateAffine(binary.getLHS(), dims, symbols);
  int64_t rhs = evaluateAffine(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(lhs, rhs);
  default:
    return llvm::mod(lhs, rhs);
  }
}

bool pagefold::isVisible(const MaskSets &mask, const MaskEnv &env, int64_t q, int64_t k,
                         ArrayRef<int64_t> rows) {
  if (k < 0 || k >= env.kvLen)
    return false;
  SmallVector<int64_t> dims{q}, symbols{env.qLen, env.kvLen};
  dims.append(rows.begin(), rows.end());
  dims.push_back(k);
  symbols.append(env.symbols);
  return llvm::any_of(mask.sets, [&](IntegerSet set) {
    return llvm::all_of(toConjunction(set), [&](const Constraint &constraint) {
      int64_t value = evaluateAffine(constraint.expr, dims, symbols);
      return constraint.isEq ? value == 0 : value >= 0;
    });
  });
}
