//===- LinearSystem.h - elimination over integers ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A system of linear constraints over integers, and Fourier-Motzkin elimination of its variables.
//
// To eliminate x, every lower bound  a x >= l  meets every upper bound  b x <= u  (a, b > 0) and
// leaves  a u - b l >= 0. Over the rationals that is the projection. Over the integers it is too if
// a = 1 or b = 1, since then an integer lies between the two whenever a rational does; else it
// may be larger (the "real shadow"). Numbers are 64 bits and every step is checked for overflow.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_LINEARSYSTEM_H
#define PAGEFOLD_LIB_ANALYSIS_LINEARSYSTEM_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace pagefold {

/// Coefficients by column, the constant last.
using Row = llvm::SmallVector<int64_t, 16>;

/// Whether no integer point satisfies the rows, which all have one length. Exact.
bool hasNoIntegerPoint(std::vector<Row> equalities, std::vector<Row> inequalities);

enum class Elimination {
  Done,     ///< the variable is gone
  Inexact,  ///< not possible without loss; nothing was changed
  Empty,    ///< the system has no solution
  Overflow, ///< numbers left 64 bits, or rows became too many; the system is spoilt
};

/// Rows over the columns [k | parameters... | variables... | 1]; inequalities say row >= 0.
class LinearSystem {
public:
  LinearSystem(unsigned numParams, unsigned numVars) : numParams(numParams), numVars(numVars) {}

  unsigned numColumns() const { return 2 + numParams + numVars; }
  unsigned varColumn(unsigned var) const { return 1 + numParams + var; }
  unsigned getNumVars() const { return numVars; }
  void addEquality(Row row) { equalities.push_back(std::move(row)); }
  void addInequality(Row row) { inequalities.push_back(std::move(row)); }
  /// A row over [parameters... | 1].
  void addParamInequality(llvm::ArrayRef<int64_t> row);

  llvm::ArrayRef<Row> getEqualities() const { return equalities; }
  llvm::ArrayRef<Row> getInequalities() const { return inequalities; }

  /// Divides rows by their common divisor and drops the weaker of parallel inequalities. False if
  /// a row alone has no solution.
  bool normalize();

  /// Eliminates a variable. With `allowShadow` never Inexact.
  Elimination eliminate(unsigned var, bool allowShadow);
  /// Drops a variable and every row it occurs in.
  void dropVar(unsigned var);
  void equalitiesToInequalities();

  /// Whether no integer point satisfies the system. Exact.
  bool isEmpty() const { return hasNoIntegerPoint(equalities, inequalities); }
  /// Drops the inequalities that the others and `known` (rows over [parameters... | 1]) imply.
  void dropImplied(llvm::ArrayRef<Row> known);

private:
  Elimination substitute(size_t equality, unsigned column);
  Elimination combine(unsigned column, bool allowShadow);
  void removeColumn(unsigned column);
  Row paramRow(llvm::ArrayRef<int64_t> row) const;

  unsigned numParams, numVars;
  std::vector<Row> equalities, inequalities;
};

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_LINEARSYSTEM_H
