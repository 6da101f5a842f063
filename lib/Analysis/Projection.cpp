//===- Projection.cpp - the keys that some row satisfies ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A division of the row alone, such as (q + c) floordiv 128, is monotone in the row. It is
// *lifted*: it becomes a row variable of its own that runs between its values at the tile's two
// ends, and those values become parameters. Divisions of k stay variables and are eliminated like
// the rows. If one cannot be eliminated without loss, but only says k mod C lies in a window, the
// window is kept as a residue; else the real shadow is taken.
//
//===----------------------------------------------------------------------===//

#include "Projection.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

namespace {

class Projection {
public:
  Projection(const TileSpace &space, const Conjunction &conjunction);
  std::optional<KeyInterval> run();

private:
  void liftDivisions();
  void liftDivision(unsigned division);
  void stateFacts();
  void stateFactsOfLifted(unsigned division);
  LinearSystem buildSystem() const;
  Row toSystemRow(const Row &flatRow) const;

  Elimination eliminateExactly(LinearSystem &system) const;
  Elimination eliminateAll(LinearSystem &system);
  bool takeResidue(LinearSystem &system, unsigned var);

  KeyInterval hull() const;
  void readBounds(const LinearSystem &system);
  AffineExpr toExpr(ArrayRef<int64_t> paramRow) const;

  unsigned numParams() const { return paramExprs.size(); }
  unsigned flatKColumn() const { return space.numDims() - 1; }
  unsigned flatSymbolColumn(unsigned i) const { return space.numDims() + i; }

  const TileSpace &space;
  FlatConjunction flat;
  /// For each division that does not depend on k, the parameter that holds its value at the low
  /// end; the high end follows.
  SmallVector<std::optional<unsigned>> lifted;
  SmallVector<AffineExpr> paramExprs; ///< the space's symbols, then the lifted ends
  std::vector<Row> facts;             ///< rows over [params... | 1]
  KeyInterval interval;
};

} // namespace

Projection::Projection(const TileSpace &space, const Conjunction &conjunction) : space(space) {
  Conjunction boxed = conjunction;
  boxed.append(space.rowBox());
  flat = flatten(boxed, space.numDims(), space.numSymbols());
  for (unsigned i = 0; i < space.numSymbols(); ++i)
    paramExprs.push_back(getAffineSymbolExpr(i, space.getContext()));
}

//===----------------------------------------------------------------------===//
// Lifting
//===----------------------------------------------------------------------===//

void Projection::liftDivisions() {
  lifted.resize(flat.divisions.size());
  for (unsigned i = 0; i < flat.divisions.size(); ++i) {
    const Row &dividend = flat.divisions[i].dividend;
    bool dependsOnK = dividend[flatKColumn()] != 0;
    for (unsigned j = 0; j < i; ++j)
      dependsOnK |= dividend[flat.divisionColumn(j)] != 0 && !lifted[j];
    if (!dependsOnK)
      liftDivision(i);
  }
}

/// Evaluates a division's dividend at the ends that make it least and greatest.
void Projection::liftDivision(unsigned division) {
  const auto &[dividend, divisor] = flat.divisions[division];
  AffineExpr low = getAffineConstantExpr(dividend.back(), space.getContext()), high = low;
  auto add = [&](int64_t coefficient, AffineExpr atLow, AffineExpr atHigh) {
    low = low + (coefficient > 0 ? atLow : atHigh) * coefficient;
    high = high + (coefficient > 0 ? atHigh : atLow) * coefficient;
  };
  for (unsigned i = 0; i < space.numSymbols(); ++i)
    add(dividend[flatSymbolColumn(i)], paramExprs[i], paramExprs[i]);
  for (unsigned i = 0; i < space.numRows(); ++i) {
    add(dividend[i], space.rowLo(i), space.rowHi(i));
    if (dividend[i] != 0)
      interval.method = BoundMethod::Lifted;
  }
  for (unsigned i = 0; i < division; ++i)
    if (int64_t coefficient = dividend[flat.divisionColumn(i)])
      add(coefficient, paramExprs[*lifted[i]], paramExprs[*lifted[i] + 1]);
  lifted[division] = numParams();
  for (AffineExpr end : {low, high})
    paramExprs.push_back(simplifyAffineExpr(end.floorDiv(divisor), 0, space.numSymbols()));
}

//===----------------------------------------------------------------------===//
// The system
//===----------------------------------------------------------------------===//

void Projection::stateFacts() {
  FlatConjunction known = flatten(space.knownFacts(), space.numDims(), space.numSymbols());
  for (const Row &row : known.inequalities) {
    Row fact(numParams() + 1, 0);
    std::copy_n(row.begin() + space.numDims(), space.numSymbols(), fact.begin());
    fact.back() = row.back();
    facts.push_back(fact);
  }
  for (unsigned i = 0; i < lifted.size(); ++i)
    if (lifted[i])
      stateFactsOfLifted(i);
}

/// lo <= hi; and, unless it divides a division, what each end is the floor of.
void Projection::stateFactsOfLifted(unsigned division) {
  const auto &[dividend, divisor] = flat.divisions[division];
  unsigned param = *lifted[division];
  Row ordered(numParams() + 1, 0);
  ordered[param] = -1;
  ordered[param + 1] = 1;
  facts.push_back(ordered);
  for (unsigned i = 0; i < division; ++i)
    if (dividend[flat.divisionColumn(i)] != 0)
      return;
  for (unsigned high : {0, 1}) {
    Row below(numParams() + 1, 0);
    for (unsigned i = 0; i < space.numSymbols(); ++i)
      below[i] = dividend[flatSymbolColumn(i)];
    for (unsigned i = 0; i < space.numRows(); ++i)
      below[2 * i + (dividend[i] > 0 ? high : 1 - high)] += dividend[i];
    below.back() = dividend.back();
    below[param + high] -= divisor;
    facts.push_back(below);
    for (int64_t &value : below)
      value = -value;
    below.back() += divisor - 1;
    facts.push_back(below);
  }
}

/// From [dims... | symbols... | divisions... | 1] to [k | params... | rows..., divisions... | 1].
Row Projection::toSystemRow(const Row &flatRow) const {
  Row row;
  row.push_back(flatRow[flatKColumn()]);
  for (unsigned i = 0; i < space.numSymbols(); ++i)
    row.push_back(flatRow[flatSymbolColumn(i)]);
  row.append(numParams() - space.numSymbols(), 0);
  row.append(flatRow.begin(), flatRow.begin() + space.numRows());
  row.append(flatRow.begin() + flat.divisionColumn(0), flatRow.end());
  return row;
}

LinearSystem Projection::buildSystem() const {
  LinearSystem system(numParams(), space.numRows() + flat.divisions.size());
  for (const Row &row : flat.equalities)
    system.addEquality(toSystemRow(row));
  for (const Row &row : flat.inequalities)
    system.addInequality(toSystemRow(row));
  for (const Row &row : facts)
    system.addParamInequality(row);
  for (unsigned i = 0; i < flat.divisions.size(); ++i) {
    if (!lifted[i]) {
      auto [below, above] = flat.definition(i);
      system.addInequality(toSystemRow(below));
      system.addInequality(toSystemRow(above));
      continue;
    }
    for (unsigned high : {0, 1}) {
      Row bound(system.numColumns(), 0);
      bound[system.varColumn(space.numRows() + i)] = high ? -1 : 1;
      bound[1 + *lifted[i] + high] = high ? 1 : -1;
      system.addInequality(bound);
    }
  }
  return system;
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

/// Eliminates what can be eliminated without loss.
Elimination Projection::eliminateExactly(LinearSystem &system) const {
  for (unsigned var = 0; var < system.getNumVars();) {
    Elimination result = system.eliminate(var, /*allowShadow=*/false);
    if (result == Elimination::Empty || result == Elimination::Overflow)
      return result;
    var = result == Elimination::Done ? 0 : var + 1; // one gone may free those before it
  }
  return Elimination::Done;
}

Elimination Projection::eliminateAll(LinearSystem &system) {
  while (true) {
    Elimination result = eliminateExactly(system);
    if (result != Elimination::Done || system.getNumVars() == 0)
      return result;
    bool isResidue = false;
    for (unsigned var = 0; var < system.getNumVars() && !isResidue; ++var)
      isResidue = takeResidue(system, var);
    if (isResidue)
      continue;
    result = system.eliminate(/*var=*/0, /*allowShadow=*/true);
    if (result != Elimination::Done)
      return result;
    interval.method = BoundMethod::RealShadow;
  }
}

/// Whether `var` occurs only as first <= k - C var <= last, one C and constant ends. Then it says
/// that k mod C lies in a window; takes it out of the system.
bool Projection::takeResidue(LinearSystem &system, unsigned var) {
  if (interval.residue)
    return false;
  unsigned column = system.varColumn(var);
  int64_t modulus = 0;
  std::optional<int64_t> first, last;
  auto raiseFirst = [&](int64_t value) { first = first ? std::max(*first, value) : value; };
  auto lowerLast = [&](int64_t value) { last = last ? std::min(*last, value) : value; };
  auto fits = [&](const Row &row, bool isEq) {
    if (row[column] == 0)
      return true;
    for (unsigned i = 1; i + 1 < row.size(); ++i)
      if (i != column && row[i] != 0)
        return false;
    int64_t step = std::abs(row[column]);
    if (std::abs(row[0]) != 1 || (row[0] > 0) == (row[column] > 0) ||
        (modulus != 0 && modulus != step))
      return false;
    modulus = step;
    if (isEq || row[0] > 0)
      raiseFirst(row[0] > 0 ? -row.back() : row.back());
    if (isEq || row[0] < 0)
      lowerLast(row[0] > 0 ? -row.back() : row.back());
    return true;
  };
  auto fitsEq = [&](const Row &row) { return fits(row, /*isEq=*/true); };
  auto fitsGe = [&](const Row &row) { return fits(row, /*isEq=*/false); };
  if (!llvm::all_of(system.getEqualities(), fitsEq) ||
      !llvm::all_of(system.getInequalities(), fitsGe) || modulus == 0 || !first || !last ||
      *first > *last)
    return false;
  system.dropVar(var);
  int64_t width = *last - *first + 1;
  if (width >= modulus)
    return true; // every key
  interval.residue = {modulus, llvm::mod(*first, modulus), width};
  interval.method = BoundMethod::Residue;
  return true;
}

//===----------------------------------------------------------------------===//
// The interval
//===----------------------------------------------------------------------===//

AffineExpr Projection::toExpr(ArrayRef<int64_t> paramRow) const {
  AffineExpr sum = getAffineConstantExpr(paramRow.back(), space.getContext());
  for (auto [coefficient, expr] : llvm::zip(paramRow.drop_back(), paramExprs))
    sum = sum + expr * coefficient;
  return simplifyAffineExpr(sum, 0, space.numSymbols());
}

void Projection::readBounds(const LinearSystem &system) {
  for (const Row &row : system.getInequalities()) {
    Row rest(row.begin() + 1, row.end());
    if (row[0] == 0) {
      interval.guards.push_back(toExpr(rest));
    } else if (row[0] > 0) { // row[0] k >= -rest
      for (int64_t &value : rest)
        value = -value;
      interval.lower.push_back(row[0] == 1 ? toExpr(rest) : toExpr(rest).ceilDiv(row[0]));
    } else { // -row[0] k <= rest
      interval.upper.push_back(row[0] == -1 ? toExpr(rest) : toExpr(rest).floorDiv(-row[0]));
    }
  }
}

KeyInterval Projection::hull() const {
  KeyInterval all;
  all.method = BoundMethod::Hull;
  return all;
}

std::optional<KeyInterval> Projection::run() {
  liftDivisions();
  stateFacts();
  LinearSystem system = buildSystem();
  if (!system.normalize())
    return std::nullopt;
  Elimination result = eliminateAll(system);
  if (result == Elimination::Empty)
    return std::nullopt;
  if (result == Elimination::Overflow)
    return hull();
  system.equalitiesToInequalities();
  LinearSystem withFacts = system;
  for (const Row &row : facts)
    withFacts.addParamInequality(row);
  if (withFacts.isEmpty())
    return std::nullopt;
  system.dropImplied(facts);
  readBounds(system);
  return interval;
}

std::optional<KeyInterval> pagefold::projectOntoKeys(const TileSpace &space,
                                                     const Conjunction &conjunction) {
  return Projection(space, conjunction).run();
}
