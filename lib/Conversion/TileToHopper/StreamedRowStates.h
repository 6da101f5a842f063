//===- StreamedRowStates.h - packed rows of states --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDROWSTATES_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDROWSTATES_H

#include "StreamedSpace.h"

namespace pagefold::hopper {

/// Elements of a lane's vector, and a vector of all lanes.
inline constexpr int64_t kVector = 4, kSpan = kVector * kWarp;
/// The maximum of a state without a key.
inline constexpr double kNothingSeen = -std::numeric_limits<double>::infinity();

/// A packed row of a state: its maximum and sum, in all lanes, and what the lane has of its
/// accumulator.
struct RowState {
  mlir::Value max, sum;
  Values output;

  Values values() const {
    Values all{max, sum};
    all.append(output);
    return all;
  }
  static RowState of(mlir::ValueRange values) {
    return {values[0], values[1], Values(values.drop_front(2))};
  }
};

/// States of packed rows, each in the lanes of a warp, and how they merge.
class RowStates {
public:
  RowStates(SpaceKernel &kernel, const StreamedSpace &space, const StateAreas &areas)
      : b(kernel.builder()), space(space), areas(areas), lane(b.lane()),
        exponent(kernel.hiddenConstant(space.naturalScale() * M_LOG2E)) {}

  RowState noKeys();
  RowState load(mlir::Value area, mlir::Value row);
  /// States without a key have the maximum -inf and add nothing, as long as the rest of them is
  /// finite.
  RowState merge(const llvm::SmallVectorImpl<RowState> &states);
  /// Of the areas whose bits are in `members`; the others may hold anything.
  RowState mergeAreas(mlir::Value members, mlir::Value row);
  /// Whether the lane's vector `i` holds elements of the row; null: all lanes' do.
  mlir::Value holds(int64_t i);

private:
  HopperBuilder &b;
  const StreamedSpace &space;
  const StateAreas &areas;
  mlir::Value lane, exponent;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDROWSTATES_H
