//===- MaskConditions.h - masks under construction --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask while it is built: conditions in disjunctive normal form over one space of names. The
// spellings and the parser share it.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_SUPPORT_MASKCONDITIONS_H
#define PAGEFOLD_LIB_SUPPORT_MASKCONDITIONS_H

#include "pagefold/Support/Conditions.h"
#include "pagefold/Support/MaskSets.h"

namespace pagefold {

/// The names every mask knows, as expressions. k's dim follows the row variables.
struct MaskTerms {
  mlir::AffineExpr q, k, qLen, kvLen;
  mlir::AffineExpr position; ///< of row q among the keys: q + kv_len - q_len
  MaskTerms(mlir::MLIRContext *context, unsigned numRowVars);
};

/// A row of the table of spellings.
struct SpellingRule {
  llvm::StringRef name;
  llvm::SmallVector<MaskSizeSpec, 2> sizes;
  Conditions (*expand)(const MaskTerms &terms, llvm::ArrayRef<mlir::AffineExpr> sizes);
};
const SpellingRule *findSpelling(llvm::StringRef name);

/// Whether `name` may name a symbol: an identifier, and no word of the syntax.
bool isMaskName(llvm::StringRef name);

/// Whether every coefficient, constant and divisor fits 32 bits, and all divisors are at least 1:
/// so that 64 bits hold their products with run-time values.
bool fitsThirtyTwoBits(mlir::AffineExpr expr);

/// Turns conditions into the sets of `mask`, whose symbols and row variables are in place, and
/// canonicalises it.
void setConditions(MaskSets &mask, const Conditions &conditions, mlir::MLIRContext *context);

} // namespace pagefold

#endif // PAGEFOLD_LIB_SUPPORT_MASKCONDITIONS_H
