//===- TileVisits.cpp - visit lists as IR ---------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Analysis/TileVisits.h"
#include "FoldingBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pagefold;

/// Stands for a key or tile beyond all others.
static constexpr int64_t kBeyond = std::numeric_limits<int32_t>::max();

namespace {

/// A half-open range of tiles.
struct TileRange {
  Value begin, end;
};

class VisitEmitter {
public:
  VisitEmitter(OpBuilder &builder, Location loc, const TileBounds &bounds,
               const VisitContext &context);

  SmallVector<VisitRange> emitVisits();
  TestResult emitTest(Value tile);

private:
  // Ends of intervals, in keys.
  Value firstKey(const KeyInterval &interval);
  Value lastKey(const KeyInterval &interval);
  Value guardsHold(const KeyInterval &interval);

  // Visit ranges, in tiles.
  TileRange tilesOf(const KeyInterval &interval);
  SmallVector<TileRange> orderedRanges();
  void exchange(TileRange &lhs, TileRange &rhs);
  TileRange hullOfAll();
  Value endOfPrefixCuts(const VisitPiece &piece);
  Value startOfSuffixCuts(const VisitPiece &piece);
  void emitPiece(const VisitPiece &piece, TileRange range, SmallVectorImpl<VisitRange> &visits);

  // Tests.
  Value touches(const KeyInterval &interval, Value firstOfTile, Value lastOfTile);
  Value touchesAny(ArrayRef<KeyInterval> intervals, Value firstOfTile, Value lastOfTile);

  Value affine(AffineExpr expr) {
    return b.affine(expr, {{}, symbols, /*numTileSymbols=*/2 * (1 + bounds.numRowVars)});
  }

  FoldingBuilder b;
  const TileBounds &bounds;
  const VisitContext &context;
  SmallVector<Value> symbols;
};

} // namespace

VisitEmitter::VisitEmitter(OpBuilder &builder, Location loc, const TileBounds &bounds,
                           const VisitContext &context)
    : b(builder, loc, context.qlo.getType()), bounds(bounds), context(context) {
  symbols = {context.qlo, context.qhi};
  for (auto [low, high] : context.rows)
    symbols.append({low, high});
  symbols.append({context.qLen, context.kvLen});
  symbols.append(context.symbols);
  assert(symbols.size() == bounds.symbolNames.size() && "expects a value for each symbol");
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

Value VisitEmitter::firstKey(const KeyInterval &interval) {
  Value first;
  for (AffineExpr low : interval.lower)
    first = first ? b.max(first, affine(low)) : affine(low);
  return first ? first : b.constant(0);
}

Value VisitEmitter::lastKey(const KeyInterval &interval) {
  Value last;
  for (AffineExpr high : interval.upper)
    last = last ? b.min(last, affine(high)) : affine(high);
  return last ? last : b.constant(kBeyond);
}

Value VisitEmitter::guardsHold(const KeyInterval &interval) {
  Value hold = b.boolean(true);
  for (AffineExpr guard : interval.guards)
    hold = b.both(hold, b.lessEqual(b.constant(0), affine(guard)));
  return hold;
}

/// The tiles an ANY interval touches; none for an empty Q tile.
TileRange VisitEmitter::tilesOf(const KeyInterval &interval) {
  Value first = firstKey(interval), last = lastKey(interval);
  Value live = b.both(b.lessEqual(context.qlo, context.qhi), guardsHold(interval));
  if (interval.mayBeEmpty)
    live = b.both(live, b.lessEqual(first, last));
  // last floordiv tileSize + 1; a last key below 0 gives 0 or less.
  Value end = b.divideNonNegative(b.add(last, b.constant(context.tileSize)), context.tileSize);
  return {b.divideNonNegative(first, context.tileSize), b.select(live, end, b.constant(0))};
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

/// Puts the range that begins first first.
void VisitEmitter::exchange(TileRange &lhs, TileRange &rhs) {
  Value inOrder = b.lessEqual(lhs.begin, rhs.begin);
  TileRange first{b.min(lhs.begin, rhs.begin), b.select(inOrder, lhs.end, rhs.end)};
  rhs = {b.max(lhs.begin, rhs.begin), b.select(inOrder, rhs.end, lhs.end)};
  lhs = first;
}

TileRange VisitEmitter::hullOfAll() {
  TileRange hull{b.constant(kBeyond), b.constant(0)};
  for (const KeyInterval &interval : bounds.any) {
    TileRange range = tilesOf(interval);
    Value isEmpty = b.lessEqual(range.end, range.begin);
    hull.begin = b.min(hull.begin, b.select(isEmpty, hull.begin, range.begin));
    hull.end = b.max(hull.end, range.end);
  }
  return hull;
}

/// One range for each piece, ascending by begin. They may overlap.
SmallVector<TileRange> VisitEmitter::orderedRanges() {
  if (bounds.order == VisitOrder::Hull)
    return {hullOfAll()};
  SmallVector<TileRange> ranges;
  for (const VisitPiece &piece : bounds.pieces)
    ranges.push_back(tilesOf(bounds.any[piece.any]));
  if (bounds.order == VisitOrder::Sorted)
    for (size_t last = ranges.size(); last > 1; --last)
      for (size_t i = 0; i + 1 < last; ++i)
        exchange(ranges[i], ranges[i + 1]);
  return ranges;
}

/// The first tile that no prefix cut touches.
Value VisitEmitter::endOfPrefixCuts(const VisitPiece &piece) {
  Value last;
  for (unsigned i : piece.prefixCuts) {
    const KeyInterval &cut = bounds.notFull.front()[i];
    Value ownLast = b.select(guardsHold(cut), lastKey(cut), b.constant(-1));
    last = last ? b.max(last, ownLast) : ownLast;
  }
  return b.divideNonNegative(b.add(last, b.constant(context.tileSize)), context.tileSize);
}

/// The first tile that a suffix cut touches.
Value VisitEmitter::startOfSuffixCuts(const VisitPiece &piece) {
  Value first;
  for (unsigned i : piece.suffixCuts) {
    const KeyInterval &cut = bounds.notFull.front()[i];
    Value ownFirst = b.select(guardsHold(cut), firstKey(cut), b.constant(kBeyond));
    first = first ? b.min(first, ownFirst) : ownFirst;
  }
  return b.divideNonNegative(first, context.tileSize);
}

void VisitEmitter::emitPiece(const VisitPiece &piece, TileRange range,
                             SmallVectorImpl<VisitRange> &visits) {
  Value begin = range.begin, end = b.max(begin, range.end);
  if (!piece.prefixCuts.empty()) {
    Value cut = b.max(begin, b.min(endOfPrefixCuts(piece), end));
    visits.push_back({begin, cut, VisitKind::Partial});
    begin = cut;
  }
  Value cut = end;
  if (!piece.suffixCuts.empty())
    cut = b.max(begin, b.min(startOfSuffixCuts(piece), end));
  visits.push_back({begin, cut, piece.middle});
  if (!piece.suffixCuts.empty())
    visits.push_back({cut, end, VisitKind::Partial});
}

SmallVector<VisitRange> VisitEmitter::emitVisits() {
  SmallVector<VisitRange> visits;
  Value visited; // tiles before this one have been visited
  for (auto [piece, range] : llvm::zip(bounds.pieces, orderedRanges())) {
    Value end = range.end;
    if (visited)
      range.begin = b.max(range.begin, visited);
    emitPiece(piece, range, visits);
    visited = visited ? b.max(visited, end) : end;
  }
  return visits;
}

SmallVector<VisitRange> pagefold::emitVisits(OpBuilder &builder, Location loc,
                                             const TileBounds &bounds,
                                             const VisitContext &context) {
  return VisitEmitter(builder, loc, bounds, context).emitVisits();
}

SmallVector<VisitKind> pagefold::visitKinds(const TileBounds &bounds) {
  SmallVector<VisitKind> kinds;
  for (const VisitPiece &piece : bounds.pieces) {
    if (!piece.prefixCuts.empty())
      kinds.push_back(VisitKind::Partial);
    kinds.push_back(piece.middle);
    if (!piece.suffixCuts.empty())
      kinds.push_back(VisitKind::Partial);
  }
  return kinds;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// Whether an interval holds a key of the tile. With a residue: whether the first key from there on
/// whose remainder lies in the window does.
Value VisitEmitter::touches(const KeyInterval &interval, Value firstOfTile, Value lastOfTile) {
  Value first = b.max(firstKey(interval), firstOfTile);
  Value last = interval.upper.empty() ? lastOfTile : b.min(lastKey(interval), lastOfTile);
  Value touched = b.both(guardsHold(interval), b.lessEqual(first, last));
  if (!interval.residue)
    return touched;
  const auto &[modulus, phase, width] = *interval.residue;
  Value remainder = b.mod(b.add(first, b.constant(modulus - phase)), modulus);
  Value inWindow = b.lessEqual(remainder, b.constant(width - 1));
  Value nextWindow = b.sub(b.add(first, b.constant(modulus)), remainder);
  return b.both(touched, b.either(inWindow, b.lessEqual(nextWindow, last)));
}

Value VisitEmitter::touchesAny(ArrayRef<KeyInterval> intervals, Value firstOfTile,
                               Value lastOfTile) {
  Value touched = b.boolean(false);
  for (const KeyInterval &interval : intervals)
    touched = b.either(touched, touches(interval, firstOfTile, lastOfTile));
  return touched;
}

TestResult VisitEmitter::emitTest(Value tile) {
  Value first = b.mul(tile, context.tileSize);
  Value last = b.add(first, b.constant(context.tileSize - 1));
  TestResult result{touchesAny(bounds.any, first, last), b.boolean(true)};
  for (const auto &alternative : bounds.notFull)
    result.partial = b.both(result.partial, touchesAny(alternative, first, last));
  return result;
}

TestResult pagefold::emitTileTest(OpBuilder &builder, Location loc, const TileBounds &bounds,
                                  const VisitContext &context, Value tile) {
  return VisitEmitter(builder, loc, bounds, context).emitTest(tile);
}
