//===- Finish.h - from the state of a fold to its result --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FINISH_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FINISH_H

#include "FoldSpace.h"

namespace pagefold::hopper {

/// What a row's accumulator is multiplied by, and its natural log-sum-exp. Of a row that has seen
/// no key: 0 and -inf.
struct Finished {
  mlir::Value factor;
  mlir::Value lse; ///< null where the space has none
};

/// `max` and `sum` are those of whole rows, f32 or vectors of two; so is `sink`, the score of a key
/// without value, or null.
Finished finishState(HopperBuilder &b, const FoldSpace &space, mlir::Value max, mlir::Value sum,
                     mlir::Value sink);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_FINISH_H
