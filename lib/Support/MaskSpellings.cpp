//===- MaskSpellings.cpp - the table of spelled masks ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row a spelling. The parser, the constructors and the tests all read this table.
//
//===----------------------------------------------------------------------===//

#include "MaskConditions.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace pagefold;

static Constraint atMost(AffineExpr lhs, AffineExpr rhs) { return {rhs - lhs}; }
static Constraint below(AffineExpr lhs, AffineExpr rhs) { return {rhs - lhs - 1}; }

static Conditions expandNone(const MaskTerms &t, ArrayRef<AffineExpr>) { return {{{t.k}}}; }

static Conditions expandCausal(const MaskTerms &t, ArrayRef<AffineExpr>) {
  return {{atMost(t.k, t.position)}};
}

static Conditions expandWindow(const MaskTerms &t, ArrayRef<AffineExpr> sizes) {
  return {{atMost(t.k, t.position), below(t.position - sizes[0], t.k)}};
}

static Conditions expandPrefix(const MaskTerms &t, ArrayRef<AffineExpr> sizes) {
  return {{below(t.k, sizes[0])}};
}

static Conditions expandSinkWindow(const MaskTerms &t, ArrayRef<AffineExpr> sizes) {
  return {{below(t.k, sizes[0]), atMost(t.k, t.position)}, expandWindow(t, sizes[1]).front()};
}

static Conditions expandChunked(const MaskTerms &t, ArrayRef<AffineExpr> sizes) {
  Constraint sameChunk{t.k.floorDiv(sizes[0]) - t.position.floorDiv(sizes[0]), /*isEq=*/true};
  return {{atMost(t.k, t.position), sameChunk}};
}

static ArrayRef<SpellingRule> spellingTable() {
  static const SpellingRule table[] = {
      {"none", {}, expandNone},
      {"causal", {}, expandCausal},
      {"window", {{"window", 1, false}}, expandWindow},
      {"prefix", {{"prefix", 0, false}}, expandPrefix},
      {"sink_window", {{"sink", 0, false}, {"window", 1, false}}, expandSinkWindow},
      {"chunked", {{"chunk", 1, true}}, expandChunked},
  };
  return table;
}

const SpellingRule *pagefold::findSpelling(StringRef name) {
  auto row = llvm::find_if(spellingTable(), [&](const auto &rule) { return rule.name == name; });
  return row == spellingTable().end() ? nullptr : &*row;
}

SmallVector<MaskSpelling> pagefold::maskSpellings() {
  SmallVector<MaskSpelling> spellings;
  for (const SpellingRule &rule : spellingTable())
    spellings.push_back({rule.name, rule.sizes});
  return spellings;
}

/// The expression of a size; a name becomes a symbol of `mask`, once.
static AffineExpr resolveSize(MaskSets &mask, const MaskSize &size, const MaskSizeSpec &spec,
                              MLIRContext *context) {
  if (const int64_t *value = std::get_if<int64_t>(&size))
    return getAffineConstantExpr(*value, context);
  const std::string &name = std::get<std::string>(size);
  unsigned index = llvm::find(mask.symbols, name) - mask.symbols.begin();
  if (index == mask.symbols.size()) {
    mask.symbols.push_back(name);
    mask.lowerBounds.push_back(spec.atLeast);
  }
  mask.lowerBounds[index] = std::max(mask.lowerBounds[index], spec.atLeast);
  return getAffineSymbolExpr(MaskSpace::firstSymbol + index, context);
}

MaskSets pagefold::spellMask(MLIRContext *context, StringRef name, ArrayRef<MaskSize> sizes) {
  const SpellingRule *rule = findSpelling(name);
  if (!rule || rule->sizes.size() != sizes.size())
    llvm::report_fatal_error("spellMask expects a row of the table of spellings, got '" +
                             llvm::Twine(name) + "'");
  MaskSets mask;
  SmallVector<AffineExpr> exprs;
  for (auto [size, spec] : llvm::zip(sizes, rule->sizes))
    exprs.push_back(resolveSize(mask, size, spec, context));
  setConditions(mask, rule->expand(MaskTerms(context, /*numRowVars=*/0), exprs), context);
  return mask;
}

MaskSets pagefold::noMask(MLIRContext *context) { return spellMask(context, "none"); }
MaskSets pagefold::causalMask(MLIRContext *context) { return spellMask(context, "causal"); }
MaskSets pagefold::windowMask(MLIRContext *context, MaskSize window) {
  return spellMask(context, "window", {window});
}
MaskSets pagefold::prefixMask(MLIRContext *context, MaskSize prefix) {
  return spellMask(context, "prefix", {prefix});
}
MaskSets pagefold::sinkWindowMask(MLIRContext *context, MaskSize sink, MaskSize window) {
  return spellMask(context, "sink_window", {sink, window});
}
MaskSets pagefold::chunkedMask(MLIRContext *context, int64_t chunk) {
  return spellMask(context, "chunked", {chunk});
}
