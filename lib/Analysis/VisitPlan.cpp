//===- VisitPlan.cpp - how intervals of keys become visit ranges ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two decisions. First the order of the ANY intervals: each must start no later than the next, for
// all values of the symbols, so that clipping each by the end of those before it visits every tile
// once. Then the cuts: a NOTFULL interval [a, b] may be treated within a piece as if it began at 0
// (a prefix cut: tiles up to b are not full) or as if it never ended (a suffix cut). Both are
// supersets, so either is sound; it is also sharp if the rest of the piece beyond [a, b] is empty
// on that side. If neither side is, the piece is tested tile by tile.
//
//===----------------------------------------------------------------------===//

#include "VisitPlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace pagefold;

/// Up to so many intervals are sorted at run time: 6 exchanges.
static constexpr size_t kMaxSorted = 4;
/// The proof of an order compares all pairs: beyond so many intervals it is not attempted.
static constexpr size_t kMaxOrdered = 16;

namespace {

/// Proves facts about the ends of intervals, which are expressions over the space's symbols.
class EndProver {
public:
  explicit EndProver(const TileSpace &space) : space(space) {}

  /// lower(a) <= lower(b) whenever neither is empty.
  bool startsNoLater(const KeyInterval &a, const KeyInterval &b) const;
  /// upper(a) <= upper(b) whenever neither is empty.
  bool endsNoLater(const KeyInterval &a, const KeyInterval &b) const;
  /// lower(cut) <= max(lower(piece), upper(previous) + 1) whenever neither cut nor piece is empty.
  bool startsWithin(const KeyInterval &cut, const KeyInterval &piece,
                    const KeyInterval *previous) const;

  /// Whether the interval may be empty although its ends share a tile: a lower bound other than 0
  /// decides and exceeds the upper one. (Below a lower bound of 0 lies no tile at all.)
  bool mayBeEmptyWithinTile(const KeyInterval &interval) const;

private:
  SmallVector<AffineExpr> lower(const KeyInterval &interval) const;
  Conjunction nonEmpty(std::initializer_list<const KeyInterval *> intervals) const;

  const TileSpace &space;
};

} // namespace

SmallVector<AffineExpr> EndProver::lower(const KeyInterval &interval) const {
  if (interval.lower.empty())
    return {getAffineConstantExpr(0, space.getContext())};
  return interval.lower;
}

Conjunction EndProver::nonEmpty(std::initializer_list<const KeyInterval *> intervals) const {
  Conjunction conjunction;
  for (const KeyInterval *interval : intervals) {
    for (AffineExpr low : lower(*interval))
      for (AffineExpr high : interval->upper)
        conjunction.push_back({high - low});
    for (AffineExpr guard : interval->guards)
      conjunction.push_back({guard});
  }
  return conjunction;
}

bool EndProver::startsNoLater(const KeyInterval &a, const KeyInterval &b) const {
  return startsWithin(a, b, /*previous=*/nullptr);
}

bool EndProver::endsNoLater(const KeyInterval &a, const KeyInterval &b) const {
  return llvm::all_of(b.upper, [&](AffineExpr end) {
    Conjunction counterexample = nonEmpty({&a, &b});
    for (AffineExpr high : a.upper)
      counterexample.push_back({high - end - 1});
    return space.isEmpty(counterexample);
  });
}

bool EndProver::startsWithin(const KeyInterval &cut, const KeyInterval &piece,
                             const KeyInterval *previous) const {
  return llvm::all_of(lower(cut), [&](AffineExpr start) {
    Conjunction counterexample = nonEmpty({&cut, &piece});
    for (AffineExpr low : lower(piece))
      counterexample.push_back({start - low - 1});
    if (space.isEmpty(counterexample))
      return true;
    return previous && llvm::all_of(previous->upper, [&](AffineExpr high) {
             Conjunction beyond = counterexample;
             beyond.push_back({start - high - 2});
             return space.isEmpty(beyond);
           });
  });
}

bool EndProver::mayBeEmptyWithinTile(const KeyInterval &interval) const {
  Conjunction guards;
  for (AffineExpr guard : interval.guards)
    guards.push_back({guard});
  return llvm::any_of(interval.lower, [&](AffineExpr start) {
    if (start == getAffineConstantExpr(0, space.getContext()))
      return false;
    Conjunction decides = guards;
    for (AffineExpr other : interval.lower)
      decides.push_back({start - other});
    return llvm::any_of(interval.upper, [&](AffineExpr end) {
      Conjunction crossed = decides;
      crossed.push_back({start - end - 1});
      return !space.isEmpty(crossed);
    });
  });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The order of the intervals by their starts, or nothing where it cannot be proved.
static std::optional<SmallVector<unsigned>> proveOrder(const EndProver &prover,
                                                       ArrayRef<KeyInterval> intervals) {
  if (intervals.size() > kMaxOrdered)
    return std::nullopt;
  SmallVector<unsigned> order, left = llvm::to_vector(llvm::seq<unsigned>(intervals.size()));
  while (!left.empty()) {
    auto first = llvm::find_if(left, [&](unsigned candidate) {
      return llvm::all_of(left, [&](unsigned other) {
        return candidate == other || prover.startsNoLater(intervals[candidate], intervals[other]);
      });
    });
    if (first == left.end())
      return std::nullopt;
    order.push_back(*first);
    left.erase(first);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

static bool startsAtZero(const KeyInterval &interval) {
  return llvm::all_of(interval.lower, [](AffineExpr low) {
    auto value = dyn_cast<AffineConstantExpr>(low);
    return value && value.getValue() <= 0;
  });
}

/// Tests every tile: nothing is known of its pieces.
static VisitPiece testedPiece(unsigned any) { return {any, {}, {}, VisitKind::Test}; }

/// Cuts that hold whichever piece it is: intervals that begin at 0 or never end.
static VisitPiece cutAnyPiece(unsigned any, ArrayRef<KeyInterval> notFull) {
  VisitPiece piece{any, {}, {}, VisitKind::Full};
  for (auto [i, cut] : llvm::enumerate(notFull)) {
    if (cut.residue)
      piece.middle = VisitKind::Test;
    else if (cut.upper.empty())
      piece.suffixCuts.push_back(i);
    else if (startsAtZero(cut))
      piece.prefixCuts.push_back(i);
    else
      piece.middle = VisitKind::Test;
  }
  return piece;
}

static VisitPiece cutPiece(const EndProver &prover, const TileBounds &bounds, unsigned any,
                           const KeyInterval *previous) {
  const KeyInterval &interval = bounds.any[any];
  VisitPiece piece{any, {}, {}, VisitKind::Full};
  for (auto [i, cut] : llvm::enumerate(bounds.notFull.front())) {
    if (cut.residue)
      piece.middle = VisitKind::Test;
    else if (cut.upper.empty() || (!startsAtZero(cut) && prover.endsNoLater(interval, cut)))
      piece.suffixCuts.push_back(i);
    else if (startsAtZero(cut) || prover.startsWithin(cut, interval, previous))
      piece.prefixCuts.push_back(i);
    else
      piece.middle = VisitKind::Test;
  }
  return piece;
}

void pagefold::planVisits(const TileSpace &space, TileBounds &bounds) {
  EndProver prover(space);
  for (KeyInterval &interval : bounds.any)
    interval.mayBeEmpty = prover.mayBeEmptyWithinTile(interval);
  bool mayCut = bounds.notFull.size() == 1;
  auto isTested = [&](unsigned any) { return !mayCut || bounds.any[any].residue; };

  if (auto order = proveOrder(prover, bounds.any)) {
    const KeyInterval *previous = nullptr;
    for (unsigned any : *order) {
      bounds.pieces.push_back(isTested(any) ? testedPiece(any)
                                            : cutPiece(prover, bounds, any, previous));
      previous = &bounds.any[any];
    }
    return;
  }

  if (bounds.any.size() > kMaxSorted) {
    bounds.order = VisitOrder::Hull;
    bounds.pieces.push_back(testedPiece(0));
    return;
  }
  // Which interval ends up in which place is known at run time only, so all pieces are alike.
  bounds.order = VisitOrder::Sorted;
  bool allTested = llvm::any_of(llvm::seq<unsigned>(bounds.any.size()), isTested);
  for (unsigned any = 0; any < bounds.any.size(); ++any)
    bounds.pieces.push_back(allTested ? testedPiece(any)
                                      : cutAnyPiece(any, bounds.notFull.front()));
}

StringRef pagefold::stringify(VisitOrder order) {
  switch (order) {
  case VisitOrder::Proved:
    return "proved";
  case VisitOrder::Sorted:
    return "sorted at run time";
  case VisitOrder::Hull:
    return "hull";
  }
  llvm_unreachable("a visit order");
}

StringRef pagefold::stringify(VisitKind kind) {
  switch (kind) {
  case VisitKind::Full:
    return "full";
  case VisitKind::Partial:
    return "partial";
  case VisitKind::Test:
    return "test";
  }
  llvm_unreachable("a visit kind");
}
