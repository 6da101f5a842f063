//===- TileSpace.cpp - the variables of a tile's bounds -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSpace.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"

using namespace mlir;
using namespace pagefold;

TileSpace::TileSpace(const MaskSets &mask)
    : context(mask.sets.front().getContext()), numRowVars(mask.rowVars.size()) {
  names = {"qlo", "qhi"};
  for (const std::string &name : mask.rowVars) {
    names.push_back(name + "@qlo");
    names.push_back(name + "@qhi");
  }
  names.append({"q_len", "kv_len"});
  names.append(mask.symbols.begin(), mask.symbols.end());

  AffineExpr qLen = getAffineSymbolExpr(2 * numRows(), context);
  facts = {{rowLo(0)}, {qLen - 1 - rowHi(0)}, {kvLen()}};
  for (unsigned i = 0; i < numRows(); ++i) {
    facts.push_back({rowHi(i) - rowLo(i)});
    box.push_back({row(i) - rowLo(i)});
    box.push_back({rowHi(i) - row(i)});
  }
  for (auto [i, bound] : llvm::enumerate(mask.lowerBounds))
    if (bound != kNoLowerBound)
      facts.push_back({getAffineSymbolExpr(2 * numRows() + 2 + i, context) - bound});
}

Conditions TileSpace::conditionsOf(const MaskSets &mask) const {
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < mask.numSymbols(); ++i)
    symbols.push_back(getAffineSymbolExpr(2 * numRows() + i, context));
  Conditions conditions;
  for (IntegerSet set : mask.sets) {
    conditions.push_back(toConjunction(set));
    for (Constraint &constraint : conditions.back())
      constraint.expr = constraint.expr.replaceSymbols(symbols);
  }
  return conditions;
}

bool TileSpace::isEmpty(const Conjunction &conjunction) const {
  Conjunction all = facts;
  all.append(conjunction);
  FlatConjunction flat = flatten(all, numDims(), numSymbols());
  for (unsigned i = 0; i < flat.divisions.size(); ++i) {
    auto [below, above] = flat.definition(i);
    flat.inequalities.push_back(below);
    flat.inequalities.push_back(above);
  }
  return hasNoIntegerPoint(std::move(flat.equalities), std::move(flat.inequalities));
}

std::pair<Row, Row> FlatConjunction::definition(unsigned i) const {
  const auto &[dividend, divisor] = divisions[i];
  Row below = dividend, above = dividend;
  below[divisionColumn(i)] = -divisor;
  for (int64_t &value : above)
    value = -value;
  above[divisionColumn(i)] = divisor;
  above.back() += divisor - 1;
  return {below, above};
}

/// MLIR's flattener states each division by two inequalities, in order: dividend - divisor * d >= 0
/// is the one where the division's own column is negative.
static std::vector<FlatDivision> readDivisions(const FlatLinearConstraints &definitions,
                                               unsigned firstColumn) {
  std::vector<FlatDivision> divisions(definitions.getNumLocalVars());
  for (unsigned i = 0; i < definitions.getNumInequalities(); ++i) {
    auto row = definitions.getInequality64(i);
    unsigned own = row.size() - 1;
    while (own > firstColumn && row[own - 1] == 0)
      --own; // the last column in use belongs to the division that the row defines
    if (own == firstColumn || row[own - 1] > 0)
      continue;
    FlatDivision &division = divisions[own - 1 - firstColumn];
    division.divisor = -row[own - 1];
    division.dividend.assign(row.begin(), row.end());
    division.dividend[own - 1] = 0;
  }
  return divisions;
}

FlatConjunction pagefold::flatten(const Conjunction &conjunction, unsigned numDims,
                                  unsigned numSymbols) {
  FlatConjunction flat{numDims, numSymbols, {}, {}, {}};
  if (conjunction.empty())
    return flat;
  std::vector<SmallVector<int64_t, 8>> rows;
  FlatLinearConstraints definitions(numDims, numSymbols);
  IntegerSet set = toIntegerSet(conjunction, numDims, numSymbols);
  // Cannot fail: it only does on semi-affine expressions.
  (void)getFlattenedAffineExprs(set, &rows, &definitions);
  flat.divisions = readDivisions(definitions, numDims + numSymbols);
  for (auto [constraint, row] : llvm::zip(conjunction, rows))
    (constraint.isEq ? flat.equalities : flat.inequalities).emplace_back(row.begin(), row.end());
  return flat;
}
