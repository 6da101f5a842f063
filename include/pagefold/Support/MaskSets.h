//===- MaskSets.h - masks as unions of integer sets -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask says which keys a query sees. Here it is a union of integer sets: query row q of a request
// sees key k iff (q, k) lies in one of the sets, and 0 <= k < kv_len. The bounds of k are implicit
// in every mask and never written.
//
// q counts the rows of the request from 0 and k its keys from 0. With q_len rows and kv_len keys,
// row q stands at position p = q + kv_len - q_len: the last row stands at the last key
// ("bottom-right"). All conditions are affine in q, k, q_len, kv_len and named symbols, with
// floordiv, ceildiv and mod by constants; that is what lets tile bounds be derived from them at
// compile time (Analysis/TileBounds.h).
//
// The text of a mask:
//
//   mask     ::= or-expr (`where` decl (`,` decl)*)?
//   or-expr  ::= and-expr (`or` and-expr)*
//   and-expr ::= cond (`and` cond)*
//   cond     ::= expr (`<=` | `<` | `>=` | `>` | `==`) expr | spelling | `(` or-expr `)`
//   spelling ::= `none` | `causal` | `window` `(` W `)` | `prefix` `(` P `)`
//              | `sink_window` `(` S `,` W `)` | `chunked` `(` C `)`
//   decl     ::= name (`>=` integer)? | name `per_row`
//   expr     ::= affine expression with + - * floordiv ceildiv mod
//
//   k <= q + kv_len - q_len and k > q + kv_len - q_len - w where w >= 1
//   sink_window(4, w) where w >= 1
//   causal and k >= doc_start and k < doc_end where doc_start per_row, doc_end per_row
//
// Every name but q, k, q_len and kv_len is declared by `where`, in the order of the operands that
// bind it. A bound after the name is a promise of the caller that sharpens the analysis. `per_row`
// declares a table with one value for each query row that never falls as q grows.
//
// MLIR finds the end of a dialect attribute by matching brackets, so a `<=` or `>` would break
// #attn.mask<k <= q>. Attributes therefore print the text in quotes, #attn.mask<"k <= q">; an op
// that parses its mask itself takes it bare as well.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_SUPPORT_MASKSETS_H
#define PAGEFOLD_SUPPORT_MASKSETS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

namespace mlir {
class AsmParser;
} // namespace mlir

namespace pagefold {

/// Stands in MaskSets::lowerBounds for a symbol about which nothing is known.
inline constexpr int64_t kNoLowerBound = std::numeric_limits<int64_t>::min();

/// A union of integer sets over dims (q, row variables..., k) and symbols (q_len, kv_len, named
/// symbols...). Plain data; equal masks compare equal once canonicalised. Every function below
/// that makes one canonicalises it.
struct MaskSets {
  llvm::SmallVector<mlir::IntegerSet> sets; ///< at least one; pure affine
  llvm::SmallVector<std::string> symbols;   ///< the named ones, in the order of their operands
  llvm::SmallVector<int64_t> lowerBounds;   ///< one for each named symbol, or kNoLowerBound
  llvm::SmallVector<std::string> rowVars;   ///< tables with a value per row, never falling in q

  unsigned numDims() const { return 2 + rowVars.size(); }
  unsigned numSymbols() const { return 2 + symbols.size(); }
  bool operator==(const MaskSets &other) const = default;
};
llvm::hash_code hash_value(const MaskSets &mask);

/// Positions of the predefined names in the sets.
struct MaskSpace {
  static constexpr unsigned q = 0, firstRowVar = 1;               ///< dims; k is the last one
  static constexpr unsigned qLen = 0, kvLen = 1, firstSymbol = 2; ///< symbols
};

/// Checks what MaskSets requires and reports the first breach through `emitError`.
mlir::LogicalResult verifyMaskSets(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                   const MaskSets &mask);

/// Brings every constraint into one normal form, drops repeated constraints and sets.
void canonicalizeMaskSets(MaskSets &mask);

//===----------------------------------------------------------------------===//
// Spellings
//===----------------------------------------------------------------------===//

/// A size of a spelling: a constant, or the name of a symbol. The symbol gets the spelling's lower
/// bound (1 for a window, 0 for a prefix or a sink).
using MaskSize = std::variant<int64_t, std::string>;

/// What a spelling takes: `chunked(C)` takes one size, at least 1, constant because a division by a
/// symbol is not affine.
struct MaskSizeSpec {
  llvm::StringRef name;
  int64_t atLeast;
  bool constantOnly;
};
struct MaskSpelling {
  llvm::StringRef name;
  llvm::ArrayRef<MaskSizeSpec> sizes;
};
/// All spellings: the table in lib/Support/MaskSpellings.cpp.
llvm::SmallVector<MaskSpelling> maskSpellings();

/// The mask of a spelling. Requires a name of the table and its number of sizes, in their bounds.
MaskSets spellMask(mlir::MLIRContext *context, llvm::StringRef name,
                   llvm::ArrayRef<MaskSize> sizes = {});

/// Every key below kv_len.
MaskSets noMask(mlir::MLIRContext *context);
/// k <= p, with p = q + kv_len - q_len.
MaskSets causalMask(mlir::MLIRContext *context);
/// The last `window` positions, the query's own included: p - window < k <= p.
MaskSets windowMask(mlir::MLIRContext *context, MaskSize window);
/// k < prefix, for every row.
MaskSets prefixMask(mlir::MLIRContext *context, MaskSize prefix);
/// k <= p and (k < sink or p - window < k).
MaskSets sinkWindowMask(mlir::MLIRContext *context, MaskSize sink, MaskSize window);
/// k <= p, within p's chunk of `chunk` positions; chunk >= 1.
MaskSets chunkedMask(mlir::MLIRContext *context, int64_t chunk);

/// What both see, and what either sees. Symbols and row variables are matched by name.
MaskSets intersectMasks(const MaskSets &lhs, const MaskSets &rhs);
MaskSets uniteMasks(const MaskSets &lhs, const MaskSets &rhs);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Parses the text of a mask. On failure calls `emitError` once with the offset into `text` where
/// the fault lies.
mlir::FailureOr<MaskSets>
parseMaskSets(llvm::StringRef text, mlir::MLIRContext *context,
              llvm::function_ref<void(size_t offset, const llvm::Twine &message)> emitError);

/// Parses `<` mask `>` with the mask in quotes or bare. Errors point at the fault.
mlir::FailureOr<MaskSets> parseMaskSets(mlir::AsmParser &parser);

/// Prints the sets with k alone on the left where that is possible, without quotes. Parsing the
/// result gives back an equal mask.
void printMaskSets(llvm::raw_ostream &os, const MaskSets &mask);
std::string maskText(const MaskSets &mask);

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// The values of everything but q and k.
struct MaskEnv {
  int64_t qLen = 0;
  int64_t kvLen = 0;
  llvm::SmallVector<int64_t> symbols; ///< one for each named symbol
};

/// Whether row q sees key k. `rows` holds the values of the row variables at q.
bool isVisible(const MaskSets &mask, const MaskEnv &env, int64_t q, int64_t k,
               llvm::ArrayRef<int64_t> rows = {});

/// Evaluates an expression; divisions round as affine ones do.
int64_t evaluateAffine(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims,
                       llvm::ArrayRef<int64_t> symbols);

} // namespace pagefold

#endif // PAGEFOLD_SUPPORT_MASKSETS_H
