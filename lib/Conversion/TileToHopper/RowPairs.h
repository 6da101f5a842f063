//===- RowPairs.h - rows of tokens as pairs that lanes hold -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries on their way into a product, new keys and values on theirs into the cache: what the graph
// does to them before (rope, norm, elementwise) happens in the registers of who loads them.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWPAIRS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWPAIRS_H

#include "SpaceKernel.h"

namespace pagefold::hopper {

/// What a row region is told of a row; i32.
struct RowPlace {
  mlir::Value token, head;
  mlir::Value position; ///< in its request; negative where the request has too few keys
};

/// How `lanes` neighbours share a row: each has the pairs of elements from `first` + an offset on.
struct PairLayout {
  mlir::Value first; ///< even, below what all of them have up to the next offset; i32
  llvm::SmallVector<int64_t> offsets; ///< those behind the row's end are for padding
  int64_t lanes;
};

/// Everything is loaded at once; what is done to a row comes once all loads are under way.
class RowPairs {
public:
  /// Loads the lane's pairs of the row at `start` (i64) of `buffer`, [tokens, heads, dim] of 16-bit
  /// elements, and what `body`, a row region that pairsRefusal() takes, or null, needs beside them.
  /// Nothing is read where `exists` does not hold: the row is zeros, as it is behind its end.
  RowPairs(SpaceKernel &kernel, const PairLayout &layout, mlir::Value buffer, mlir::Value start,
           mlir::Value exists, mlir::Region *body, const RowPlace &place);

  /// Applies the region. All lanes of the warp get here.
  void apply();
  /// Divides by the scale of elements of 8 bits.
  void divideBy(mlir::Value scale);
  /// The pairs, rounded to `element`; as they were loaded where nothing was done to them.
  Values round(mlir::Type element);

private:
  /// For each offset the cosines and sines of its pair's angles, or a norm's weights; null where
  /// the op leaves the pair as it is.
  struct Factors {
    Values first, second;
  };
  Factors load(tile::RopeOp op);
  Factors load(tile::RmsNormOp op);
  mlir::Value positionOf(tile::RopeOp op);
  void apply(tile::RopeOp op, const Factors &angles);
  void apply(tile::RmsNormOp op, const Factors &weights);
  void apply(tile::RowMapOp op);
  mlir::Value sumOfLanes(mlir::Value own);
  /// Widens the pairs.
  Values &wide();

  SpaceKernel &kernel;
  HopperBuilder &b;
  PairLayout layout;
  mlir::Type element; ///< of the buffer
  int64_t dim;
  mlir::Value exists;
  mlir::Region *body;
  RowPlace place;
  llvm::DenseMap<mlir::Operation *, Factors> factors;
  Values words, values; ///< as loaded; as vectors of two f32, once something is done to them
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ROWPAIRS_H
