//===- TileVisits.h - visit lists and mask predicates as IR -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A visit list is a short static sequence of ranges of KV tile indices, ascending and disjoint. It
// holds every tile that some row of the Q tile sees a key of. Its length and the kinds of its
// ranges follow from the mask alone; the ends are computed from run-time lengths and symbols.
//
//   window(W):  partial [a, x)   full [x, y)   partial [y, b)
//
// The code emitted here is arith on the type of the context's values (index or i32), folded while
// it is built, with shifts for powers of two. Values and products of a mask's coefficients with
// them must fit that type; the exact ends of tiles are taken after the maxima and minima, so
// nothing larger than a key index times the largest coefficient is ever formed.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_ANALYSIS_TILEVISITS_H
#define PAGEFOLD_ANALYSIS_TILEVISITS_H

#include "mlir/IR/Builders.h"
#include "pagefold/Analysis/TileBounds.h"
#include <utility>

namespace pagefold {

/// What a visit list is computed from. All values have one type, index or i32.
struct VisitContext {
  mlir::Value qlo, qhi; ///< first and last row of the Q tile; the tile is empty if qhi < qlo
  mlir::Value qLen, kvLen;
  llvm::SmallVector<mlir::Value> symbols;                      ///< the mask's named symbols
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> rows; ///< row variables at qlo and at qhi
  int64_t tileSize = 0;                                        ///< keys in a KV tile (BN), > 0
};

/// The tiles begin <= t < end, where begin <= end. Those of a range that is not empty are tiles of
/// the request: 0 <= t < kv_len ceildiv tileSize.
struct VisitRange {
  mlir::Value begin, end;
  VisitKind kind;
};

/// What is to be done with one tile of a Test range: two i1.
struct TestResult {
  mlir::Value visit;   ///< some key may be visible
  mlir::Value partial; ///< apply the mask; means nothing where visit is false
};

/// The kinds of the ranges emitVisits gives, in order.
llvm::SmallVector<VisitKind> visitKinds(const TileBounds &bounds);

llvm::SmallVector<VisitRange> emitVisits(mlir::OpBuilder &builder, mlir::Location loc,
                                         const TileBounds &bounds, const VisitContext &context);

TestResult emitTileTest(mlir::OpBuilder &builder, mlir::Location loc, const TileBounds &bounds,
                        const VisitContext &context, mlir::Value tile);

/// A point of the mask, or a vector of points.
struct MaskPoint {
  mlir::Value q, k;                    ///< scalars, or vectors of one shape; may be mixed
  llvm::SmallVector<mlir::Value> rows; ///< the row variables at q, of q's type
};

/// The element predicate: whether `point.q` sees `point.k`, which is at least 0; k < kv_len is part
/// of it. Gives i1, or a vector of i1 where q or k is a vector: scalars are then broadcast. Of
/// `context` only qLen, kvLen and symbols are read; their type is the element type of q and k.
mlir::Value emitVisible(mlir::OpBuilder &builder, mlir::Location loc, const MaskSets &mask,
                        const MaskPoint &point, const VisitContext &context);

/// The keys from <= k < below, of q's type or scalars.
struct RowInterval {
  mlir::Value from; ///< null: from the first key
  mlir::Value below;
};

/// The keys that `point.q` sees, where every mask of these sets makes them one interval: one set
/// whose constraints bound k by what does not depend on k. Nothing otherwise, and then nothing is
/// emitted. `point.k` is not read.
std::optional<RowInterval> emitRowInterval(mlir::OpBuilder &builder, mlir::Location loc,
                                           const MaskSets &mask, const MaskPoint &point,
                                           const VisitContext &context);

} // namespace pagefold

#endif // PAGEFOLD_ANALYSIS_TILEVISITS_H
