//===- Consumer.h - the warpgroups that fold --------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_CONSUMER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_CONSUMER_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

/// Fills the consumers' role: each warpgroup folds 64 rows of every query tile over the KV tiles in
/// the order in which the producer brings them, one product after the other, and stores the result.
/// What overlaps is for hopper-overlap-products to say.
void emitConsumer(SpaceKernel &kernel, const PipelinedSpace &space, const SharedAllocations &shared,
                  mlir::Value warpgroup, mlir::Value warp);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_CONSUMER_H
