//===- PartialStates.h - states of parts of the KV dimension ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where query tiles are few, several CTAs fold parts of one tile's keys. Each warp stores its 16
// rows of a state as they lie in its registers and draws a ticket; the warp that draws the last one
// merges the parts in their order, whoever came last, so that results do not depend on it. No
// second launch, and counters that leave themselves as they were.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PARTIALSTATES_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PARTIALSTATES_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

class PartialStates {
public:
  /// What a warp holds of a state; the sum is that of the whole row.
  struct State {
    mlir::Value output, max, sum;
  };

  PartialStates(SpaceKernel &kernel, const PipelinedSpace &space, mlir::Value warpgroup,
                mlir::Value warp);
  void store(const State &state, mlir::Value slot, mlir::Value part);
  /// Whether this warp is the last of the tile's parts; what the others stored is then visible.
  mlir::Value isLast(mlir::Value slot, mlir::Value parts);
  State merge(mlir::Value slot, mlir::Value parts, mlir::Value exponent);

private:
  mlir::Value offsetOf(mlir::Value slot);
  State load(mlir::Value slot);

  HopperBuilder &b;
  FragmentType outputType;
  int64_t warpFloats; ///< of one warp's state
  mlir::Value warpInTile;
  int64_t warps;
  mlir::Value states, counters;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PARTIALSTATES_H
