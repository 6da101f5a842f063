//===- MaskOnRows.h - the mask of a space on level 3 ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The producer derives a tile's visit list, the consumers hide scores. Where the keys that a row
// sees are one interval (causal, window, chunked, documents, ...) its two ends are computed once a
// query tile, and a KV tile costs one or two comparisons an element; any other mask is evaluated
// on each element.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_MASKONROWS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_MASKONROWS_H

#include "FoldSpace.h"
#include "Requests.h"

namespace pagefold::hopper {

/// The mask's symbols for a request, and its row tables; i32.
class MaskValues {
public:
  /// `valid`: whether there is such a request, and it has rows; null: there is.
  MaskValues(SpaceKernel &kernel, const FoldSpace &space, const Request &request,
             mlir::Value valid = {});
  /// For query rows qlo..qhi.
  VisitContext context(mlir::Value qlo, mlir::Value qhi);
  /// The row tables at query row `q`, an i32 or a vector of two.
  Values rowValues(mlir::Value q);

private:
  SpaceKernel &kernel;
  HopperBuilder &b;
  const FoldSpace &space;
  Request request;
  mlir::Value valid;
  Values symbols;
};

/// Hides what the mask hides in scores of one query tile.
class ScoreMask {
public:
  /// `q`: the query rows of the lane's two rows.
  ScoreMask(SpaceKernel &kernel, const FoldSpace &space, const Request &request, mlir::Value q);
  mlir::Value apply(mlir::Value scores, mlir::Value firstKey);
  /// Which of the rows see key `key`.
  mlir::Value visible(mlir::Value key);

private:
  mlir::Value applyToElements(mlir::Value scores, mlir::Value firstKey);

  HopperBuilder &b;
  const FoldSpace &space;
  MaskValues values;
  Request request;
  mlir::Value q;
  mlir::Value from, below; ///< of the keys that a row sees; null: not an interval, or no such end
  bool isInterval = false;
  Values rowValues;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_MASKONROWS_H
