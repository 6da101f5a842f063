//===- TileBounds.cpp - which KV tiles a mask touches ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Analysis/TileBounds.h"
#include "MaskComplement.h"
#include "Projection.h"
#include "VisitPlan.h"
#include "pagefold/Support/AffineText.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pagefold;

/// More disjuncts of the complement than this, and the sets are taken one by one: a tile is then
/// called full if one set alone covers it.
static constexpr size_t kMaxDisjuncts = 8;

/// With more intervals than this, pairs are no longer compared for one covering the other.
static constexpr size_t kMaxCompared = 16;

//===----------------------------------------------------------------------===//
// Derivation
//===----------------------------------------------------------------------===//

/// The constraints of an interval over k.
static Conjunction constraintsOf(const TileSpace &space, const KeyInterval &interval) {
  Conjunction conjunction{{space.k()}};
  for (AffineExpr low : interval.lower)
    conjunction.push_back({space.k() - low});
  for (AffineExpr high : interval.upper)
    conjunction.push_back({high - space.k()});
  for (AffineExpr guard : interval.guards)
    conjunction.push_back({guard});
  return conjunction;
}

/// Whether `inner` lies in `outer`; gives up on residues.
static bool isCovered(const TileSpace &space, const KeyInterval &inner, const KeyInterval &outer) {
  if (outer.residue)
    return false;
  return llvm::all_of(constraintsOf(space, outer), [&](const Constraint &constraint) {
    Conjunction counterexample = constraintsOf(space, inner);
    counterexample.push_back({-constraint.expr - 1});
    return space.isEmpty(counterexample);
  });
}

/// Projects each disjunct, and drops intervals that lie in another one.
static SmallVector<KeyInterval> projectAll(const TileSpace &space, const Conditions &conditions) {
  SmallVector<KeyInterval> intervals;
  for (const Conjunction &conjunction : conditions) {
    std::optional<KeyInterval> next = projectOntoKeys(space, conjunction);
    if (!next)
      continue;
    if (conditions.size() <= kMaxCompared) {
      if (llvm::any_of(intervals,
                       [&](const auto &known) { return isCovered(space, *next, known); }))
        continue;
      llvm::erase_if(intervals, [&](const auto &known) { return isCovered(space, known, *next); });
    }
    intervals.push_back(std::move(*next));
  }
  return intervals;
}

static SmallVector<SmallVector<KeyInterval>> deriveNotFull(const TileSpace &space,
                                                           const Conditions &visible) {
  SmallVector<SmallVector<KeyInterval>> alternatives;
  if (auto hidden = hiddenKeys(space, visible, kMaxDisjuncts)) {
    alternatives.push_back(projectAll(space, *hidden));
    return alternatives;
  }
  for (const Conjunction &set : visible)
    alternatives.push_back(projectAll(space, *hiddenKeys(space, {set}, SIZE_MAX)));
  return alternatives;
}

TileBounds pagefold::deriveTileBounds(const MaskSets &mask) {
  TileSpace space(mask);
  TileBounds bounds;
  bounds.symbolNames.assign(space.symbolNames().begin(), space.symbolNames().end());
  bounds.numRowVars = mask.rowVars.size();
  Conditions visible = space.conditionsOf(mask);
  Conditions inRange =
      conjoin(visible, {{{space.k()}, {space.kvLen() - 1 - space.k()}}}); // 0 <= k < kv_len
  bounds.any = projectAll(space, inRange);
  for (KeyInterval &interval : bounds.any)
    if (interval.method == BoundMethod::Hull)
      interval.upper = {space.kvLen() - 1};
  bounds.notFull = deriveNotFull(space, visible);
  planVisits(space, bounds);
  return bounds;
}

BoundMethod TileBounds::worstMethod() const {
  BoundMethod worst = BoundMethod::Exact;
  auto include = [&](ArrayRef<KeyInterval> intervals) {
    for (const KeyInterval &interval : intervals)
      worst = std::max(worst, interval.method);
  };
  include(any);
  for (const auto &alternative : notFull)
    include(alternative);
  return worst;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

StringRef pagefold::stringify(BoundMethod method) {
  switch (method) {
  case BoundMethod::Exact:
    return "exact";
  case BoundMethod::Lifted:
    return "lifted";
  case BoundMethod::Residue:
    return "residue";
  case BoundMethod::RealShadow:
    return "real shadow";
  case BoundMethod::Hull:
    return "hull";
  }
  llvm_unreachable("a bound method");
}

static void printEnd(raw_ostream &os, ArrayRef<AffineExpr> ends, StringRef extremum,
                     StringRef ifNone, const AffineText &text) {
  if (ends.empty())
    os << ifNone;
  if (ends.size() > 1)
    os << extremum << "(";
  llvm::interleaveComma(ends, os, [&](AffineExpr end) { os << text(end); });
  if (ends.size() > 1)
    os << ")";
}

static void printInterval(raw_ostream &os, const KeyInterval &interval, const AffineText &text) {
  os << "[";
  printEnd(os, interval.lower, "max", "0", text);
  os << ", ";
  printEnd(os, interval.upper, "min", "inf", text);
  os << (interval.upper.empty() ? ")" : "]");
  for (AffineExpr guard : interval.guards)
    os << " if " << text(guard) << " >= 0";
  if (const auto &residue = interval.residue) {
    os << " where " << (residue->phase ? "(k - " + std::to_string(residue->phase) + ")" : "k");
    os << " mod " << residue->modulus << " < " << residue->width;
  }
  os << "  (" << stringify(interval.method) << ")\n";
}

static void printPiece(raw_ostream &os, const VisitPiece &piece) {
  auto printCuts = [&](StringRef side, ArrayRef<unsigned> cuts) {
    if (cuts.empty())
      return;
    os << ", partial " << side << " not full #";
    llvm::interleave(cuts, os, ", #");
  };
  os << "  any #" << piece.any << ": " << stringify(piece.middle);
  printCuts("up to the end of", piece.prefixCuts);
  printCuts("from the start of", piece.suffixCuts);
  os << "\n";
}

void TileBounds::print(raw_ostream &os) const {
  AffineText text({}, symbolNames);
  for (auto [i, interval] : llvm::enumerate(any)) {
    os << "any #" << i << "       ";
    printInterval(os, interval, text);
  }
  for (auto [a, alternative] : llvm::enumerate(notFull)) {
    if (notFull.size() > 1)
      os << "full if untouched by all of, alternative " << a << ":\n";
    for (auto [i, interval] : llvm::enumerate(alternative)) {
      os << "not full #" << i << "  ";
      printInterval(os, interval, text);
    }
  }
  os << "visits, order " << stringify(order) << ":\n";
  for (const VisitPiece &piece : pieces)
    printPiece(os, piece);
}
