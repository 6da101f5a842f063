//===- TileBounds.h - which KV tiles a mask touches -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Let a Q tile hold the rows qlo..qhi of a request. Two sets of keys decide what happens to a KV
// tile, which is BN neighbouring keys:
//
//   ANY     = { k : some row in qlo..qhi sees k }
//   NOTFULL = { k : some row in qlo..qhi does not see k }, with every k >= kv_len in it
//
// A tile must be visited iff ANY touches it, and needs no mask code iff NOTFULL does not. Both are
// projections of integer sets along q, so both come out as intervals of k whose ends are affine in
// (qlo, qhi, q_len, kv_len, symbols): a few integer instructions at run time. The tile's index, the
// tile sizes and the GQA group stay out of the derivation; an interval [a, b] touches the tiles
// a floordiv BN to b floordiv BN.
//
//   window(W):  ANY     [max(qlo + off - W + 1, 0), qhi + off]      off = kv_len - q_len
//               NOTFULL [0, qhi + off - W]  and  [qlo + off + 1, inf)
//
// NOTFULL is the projection of the complement, taken by De Morgan on the constraints. Projection is
// Fourier-Motzkin elimination, which over integers is exact whenever one of the two coefficients is
// 1. Where it is not, the derivation steps down a ladder, each step still a superset, so that never
// a visible key is missed and never a tile called full that is not:
//
//   exact        the elimination lost nothing
//   lifted       a division of the row alone ((q + c) floordiv 128) became a row variable between
//                its values at qlo and qhi; it loses only what lies between two such values
//   residue      what is left says k mod C lies in a window: each tile is tested
//   real shadow  the projection over the rationals: a few more partial tiles
//   hull         too many pieces, or numbers beyond 64 bits: all keys below kv_len
//
// The visit list (TileVisits.h) orders the ANY intervals and cuts each where fullness begins and
// ends. How that is done is decided here too, so that the number and kinds of the ranges are known
// without emitting anything.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_ANALYSIS_TILEBOUNDS_H
#define PAGEFOLD_ANALYSIS_TILEBOUNDS_H

#include "pagefold/Support/MaskSets.h"
#include <optional>

namespace pagefold {

/// How an interval was found, from best to worst.
enum class BoundMethod { Exact, Lifted, Residue, RealShadow, Hull };
llvm::StringRef stringify(BoundMethod method);

/// Keys whose remainder lies in a window: (k - phase) mod modulus < width.
struct Residue {
  int64_t modulus; ///< > width
  int64_t phase;   ///< in [0, modulus)
  int64_t width;   ///< >= 1
};

/// The keys max(lower) <= k <= min(upper), where all guards are >= 0. No lower bound means 0, no
/// upper bound infinity. All expressions are over the symbols of TileBounds.
struct KeyInterval {
  llvm::SmallVector<mlir::AffineExpr> lower;
  llvm::SmallVector<mlir::AffineExpr> upper;
  llvm::SmallVector<mlir::AffineExpr> guards;
  std::optional<Residue> residue;
  BoundMethod method = BoundMethod::Exact;
  /// Of ANY intervals: whether max(lower) > min(upper) can happen where a lower bound other than 0
  /// decides. The two ends may then still share a tile, and emptiness has to be tested.
  bool mayBeEmpty = false;
};

/// Whether the tiles of a range need mask code.
enum class VisitKind {
  Full,    ///< every key of every tile is visible to every row, and lies below kv_len
  Partial, ///< apply the mask
  Test,    ///< a predicate for each tile decides: skip, partial or full
};
llvm::StringRef stringify(VisitKind kind);

/// One ANY interval and where it is cut: tiles up to the end of a prefix cut or from the start of a
/// suffix cut on are not full. Cuts index the first alternative of TileBounds::notFull.
struct VisitPiece {
  unsigned any;
  llvm::SmallVector<unsigned> prefixCuts, suffixCuts;
  VisitKind middle = VisitKind::Full; ///< Full or Test: what lies between the cuts
};

/// How the pieces are put into ascending order.
enum class VisitOrder {
  Proved, ///< the pieces stand in order
  Sorted, ///< compared and exchanged at run time
  Hull,   ///< one range from the least start to the greatest end
};
llvm::StringRef stringify(VisitOrder order);

/// Everything known about the tiles of a mask. Expressions are over the symbols
/// (qlo, qhi, lo and hi of each row variable..., q_len, kv_len, named symbols...).
struct TileBounds {
  llvm::SmallVector<KeyInterval> any;
  /// A tile is full iff no interval of *some* alternative touches it. One alternative, unless
  /// the complement had too many pieces: then one for each set of the mask.
  llvm::SmallVector<llvm::SmallVector<KeyInterval>> notFull;
  VisitOrder order = VisitOrder::Proved;
  llvm::SmallVector<VisitPiece> pieces;
  llvm::SmallVector<std::string> symbolNames; ///< names of the symbols, for print
  unsigned numRowVars = 0;

  /// The worst step of the ladder that was taken.
  BoundMethod worstMethod() const;
  void print(llvm::raw_ostream &os) const;
};

/// Derives the bounds. Never fails: what cannot be sharpened becomes a hull. Requires a mask that
/// verifyMaskSets accepts.
TileBounds deriveTileBounds(const MaskSets &mask);

} // namespace pagefold

#endif // PAGEFOLD_ANALYSIS_TILEBOUNDS_H
