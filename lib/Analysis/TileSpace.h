//===- TileSpace.h - the variables of a tile's bounds -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivation works with the dims (q, row variables..., k) of a mask and these symbols:
//
//   (qlo, qhi, lo and hi of each row variable..., q_len, kv_len, named symbols...)
//
// and with what is known of the symbols: 0 <= qlo <= qhi < q_len, 0 <= kv_len, lo <= hi, and the
// declared lower bounds.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_TILESPACE_H
#define PAGEFOLD_LIB_ANALYSIS_TILESPACE_H

#include "LinearSystem.h"
#include "pagefold/Support/Conditions.h"
#include "pagefold/Support/MaskSets.h"

namespace pagefold {

class TileSpace {
public:
  explicit TileSpace(const MaskSets &mask);

  mlir::MLIRContext *getContext() const { return context; }
  unsigned numRows() const { return numRowVars + 1; } ///< q and the row variables
  unsigned numDims() const { return numRows() + 1; }
  unsigned numSymbols() const { return names.size(); }
  mlir::AffineExpr k() const { return getAffineDimExpr(numDims() - 1, context); }
  mlir::AffineExpr row(unsigned i) const { return getAffineDimExpr(i, context); }
  mlir::AffineExpr rowLo(unsigned i) const { return getAffineSymbolExpr(2 * i, context); }
  mlir::AffineExpr rowHi(unsigned i) const { return getAffineSymbolExpr(2 * i + 1, context); }
  mlir::AffineExpr kvLen() const { return getAffineSymbolExpr(2 * numRows() + 1, context); }
  llvm::ArrayRef<std::string> symbolNames() const { return names; }

  /// The sets of the mask over this space's symbols.
  Conditions conditionsOf(const MaskSets &mask) const;
  /// What is known of the symbols.
  const Conjunction &knownFacts() const { return facts; }
  /// lo <= row <= hi for q and every row variable.
  const Conjunction &rowBox() const { return box; }
  /// Whether no integer point satisfies the known facts and `conjunction`. Exact.
  bool isEmpty(const Conjunction &conjunction) const;

private:
  mlir::MLIRContext *context;
  unsigned numRowVars;
  llvm::SmallVector<std::string> names;
  Conjunction facts, box;
};

/// A floor division that flattening made a variable: dividend floordiv divisor.
struct FlatDivision {
  Row dividend;
  int64_t divisor;
};

/// A conjunction as rows over [dims... | symbols... | divisions... | 1].
struct FlatConjunction {
  unsigned numDims, numSymbols;
  std::vector<FlatDivision> divisions; ///< each over earlier ones only
  std::vector<Row> equalities, inequalities;

  unsigned divisionColumn(unsigned i) const { return numDims + numSymbols + i; }
  /// divisor * d <= dividend, and dividend <= divisor * d + divisor - 1.
  std::pair<Row, Row> definition(unsigned i) const;
};

/// Requires pure affine expressions.
FlatConjunction flatten(const Conjunction &conjunction, unsigned numDims, unsigned numSymbols);

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_TILESPACE_H
