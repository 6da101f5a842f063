//===- LinearSystem.cpp - elimination over integers -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearSystem.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>
#include <optional>

using namespace mlir;
using namespace pagefold;

/// More rows than this, and the pairs of an elimination are not worth their time.
static constexpr size_t kMaxRows = 200;

/// f * lhs + g * rhs, or nothing if a number leaves 64 bits.
static std::optional<Row> combineRows(int64_t f, const Row &lhs, int64_t g, const Row &rhs) {
  Row sum(lhs.size());
  for (size_t i = 0; i < lhs.size(); ++i) {
    int64_t left, right;
    if (llvm::MulOverflow(f, lhs[i], left) || llvm::MulOverflow(g, rhs[i], right) ||
        llvm::AddOverflow(left, right, sum[i]))
      return std::nullopt;
  }
  return sum;
}

static bool isConstant(const Row &row) {
  return llvm::all_of(llvm::drop_end(row), [](int64_t value) { return value == 0; });
}

static Row negated(Row row) {
  for (int64_t &value : row)
    value = -value;
  return row;
}

/// Divides by the common divisor; an inequality's constant is rounded down, which over integers
/// loses nothing. False if the row has no solution.
static bool normalizeRow(Row &row, bool isEq) {
  int64_t gcd = 0;
  for (int64_t value : llvm::drop_end(row))
    gcd = std::gcd(gcd, value);
  if (gcd == 0)
    return isEq ? row.back() == 0 : row.back() >= 0;
  if (isEq && row.back() % gcd != 0)
    return false;
  for (int64_t &value : llvm::drop_end(row))
    value /= gcd;
  row.back() = llvm::divideFloorSigned(row.back(), gcd);
  return true;
}

//===----------------------------------------------------------------------===//
// Emptiness
//===----------------------------------------------------------------------===//

/// A variable that stands in inequalities only, and with one sign, satisfies all of them when it is
/// large enough: drops those rows. True if any was dropped.
static bool dropOneSided(ArrayRef<Row> equalities, std::vector<Row> &inequalities) {
  size_t numColumns = inequalities.empty() ? 0 : inequalities.front().size() - 1;
  size_t before = inequalities.size();
  for (size_t column = 0; column < numColumns; ++column) {
    auto isPositive = [&](const Row &row) { return row[column] > 0; };
    auto isNegative = [&](const Row &row) { return row[column] < 0; };
    auto isUsed = [&](const Row &row) { return row[column] != 0; };
    bool oneSided =
        !llvm::any_of(inequalities, isPositive) || !llvm::any_of(inequalities, isNegative);
    if (oneSided && !llvm::any_of(equalities, isUsed))
      llvm::erase_if(inequalities, isUsed);
  }
  return inequalities.size() != before;
}

/// The columns that some row uses, and the constant.
static SmallVector<unsigned> usedColumns(ArrayRef<Row> equalities, ArrayRef<Row> inequalities) {
  SmallVector<unsigned> columns;
  const Row &any = equalities.empty() ? inequalities.front() : equalities.front();
  for (unsigned column = 0; column < any.size(); ++column) {
    auto isUsed = [&](const Row &row) { return row[column] != 0; };
    if (column + 1 == any.size() || llvm::any_of(equalities, isUsed) ||
        llvm::any_of(inequalities, isUsed))
      columns.push_back(column);
  }
  return columns;
}

bool pagefold::hasNoIntegerPoint(std::vector<Row> equalities, std::vector<Row> inequalities) {
  while (dropOneSided(equalities, inequalities)) {
  }
  if (equalities.empty() && inequalities.empty())
    return false;
  SmallVector<unsigned> columns = usedColumns(equalities, inequalities);
  presburger::IntegerPolyhedron set(presburger::PresburgerSpace::getSetSpace(columns.size() - 1));
  auto packed = [&](const Row &row) {
    return llvm::map_to_vector(columns, [&](unsigned column) { return row[column]; });
  };
  for (const Row &row : equalities)
    set.addEquality(ArrayRef<int64_t>(packed(row)));
  for (const Row &row : inequalities)
    set.addInequality(ArrayRef<int64_t>(packed(row)));
  return set.isIntegerEmpty();
}

//===----------------------------------------------------------------------===//
// Systems
//===----------------------------------------------------------------------===//

Row LinearSystem::paramRow(ArrayRef<int64_t> row) const {
  Row full(numColumns(), 0);
  llvm::copy(row.drop_back(), full.begin() + 1);
  full.back() = row.back();
  return full;
}

void LinearSystem::addParamInequality(ArrayRef<int64_t> row) { addInequality(paramRow(row)); }

bool LinearSystem::normalize() {
  bool solvable = true;
  for (Row &row : equalities)
    solvable &= normalizeRow(row, /*isEq=*/true);
  llvm::erase_if(equalities, isConstant);
  std::map<std::vector<int64_t>, int64_t> tightest; // constant by coefficients
  for (Row &row : inequalities) {
    solvable &= normalizeRow(row, /*isEq=*/false);
    if (isConstant(row))
      continue;
    auto [known, isNew] = tightest.try_emplace({row.begin(), row.end() - 1}, row.back());
    known->second = std::min(known->second, row.back());
  }
  inequalities.clear();
  for (const auto &[coefficients, constant] : tightest) {
    inequalities.emplace_back(coefficients.begin(), coefficients.end());
    inequalities.back().push_back(constant);
  }
  return solvable;
}

void LinearSystem::removeColumn(unsigned column) {
  for (auto *rows : {&equalities, &inequalities})
    for (Row &row : *rows)
      row.erase(row.begin() + column);
  --numVars;
}

void LinearSystem::dropVar(unsigned var) {
  unsigned column = varColumn(var);
  for (auto *rows : {&equalities, &inequalities})
    llvm::erase_if(*rows, [&](const Row &row) { return row[column] != 0; });
  removeColumn(column);
}

void LinearSystem::equalitiesToInequalities() {
  for (const Row &row : equalities) {
    inequalities.push_back(row);
    inequalities.push_back(negated(row));
  }
  equalities.clear();
}

/// Replaces the column's variable by what the equality, where it stands with 1 or -1, says it is.
Elimination LinearSystem::substitute(size_t equality, unsigned column) {
  Row definition = equalities[equality];
  equalities.erase(equalities.begin() + equality);
  for (auto *rows : {&equalities, &inequalities})
    for (Row &row : *rows) {
      if (row[column] == 0)
        continue;
      std::optional<Row> next = combineRows(1, row, -row[column] * definition[column], definition);
      if (!next)
        return Elimination::Overflow;
      row = *next;
    }
  removeColumn(column);
  return normalize() ? Elimination::Done : Elimination::Empty;
}

/// Fourier-Motzkin proper.
Elimination LinearSystem::combine(unsigned column, bool allowShadow) {
  std::vector<Row> lower, upper, next;
  for (const Row &row : inequalities)
    (row[column] > 0 ? lower : row[column] < 0 ? upper : next).push_back(row);
  if (next.size() + lower.size() * upper.size() > kMaxRows)
    return Elimination::Overflow;
  for (const Row &low : lower)
    for (const Row &high : upper) {
      int64_t a = low[column], b = -high[column];
      std::optional<Row> row = combineRows(b, low, a, high);
      if (!row)
        return Elimination::Overflow;
      // A gap that is constant and wide enough always holds a multiple: the dark shadow.
      bool exact = a == 1 || b == 1 || (isConstant(*row) && row->back() >= (a - 1) * (b - 1));
      if (!exact && !allowShadow)
        return Elimination::Inexact;
      next.push_back(*row);
    }
  inequalities = std::move(next);
  removeColumn(column);
  return normalize() ? Elimination::Done : Elimination::Empty;
}

Elimination LinearSystem::eliminate(unsigned var, bool allowShadow) {
  unsigned column = varColumn(var);
  auto unit = llvm::find_if(equalities, [&](const Row &row) { return std::abs(row[column]) == 1; });
  if (unit != equalities.end())
    return substitute(unit - equalities.begin(), column);
  if (llvm::any_of(equalities, [&](const Row &row) { return row[column] != 0; })) {
    if (!allowShadow)
      return Elimination::Inexact;
    equalitiesToInequalities();
  }
  return combine(column, allowShadow);
}

void LinearSystem::dropImplied(ArrayRef<Row> known) {
  std::vector<Row> context, kept;
  for (const Row &row : known)
    context.push_back(paramRow(row));
  // Guards first: what remains of them costs a comparison, a bound only a maximum.
  for (bool guards : {true, false})
    for (const Row &row : inequalities)
      if ((row[0] == 0) == guards && !llvm::is_contained(context, row))
        kept.push_back(row);
  for (size_t i = 0; i < kept.size();) {
    LinearSystem counterexample(numParams, numVars);
    counterexample.equalities = equalities;
    counterexample.inequalities = context;
    for (size_t j = 0; j < kept.size(); ++j)
      counterexample.inequalities.push_back(i == j ? negated(kept[j]) : kept[j]);
    // The order of rows is kept: row i of `kept` now says row < 0.
    counterexample.inequalities[context.size() + i].back() -= 1;
    if (counterexample.isEmpty())
      kept.erase(kept.begin() + i);
    else
      ++i;
  }
  inequalities = std::move(kept);
}
