//===- PipelinedKernel.h - a space on the pipelined schedule ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDKERNEL_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDKERNEL_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

/// Fills a kernel: shared memory, one producer warpgroup, two consumer warpgroups. `sections`: the
/// order of tiles (TileOrder.h).
void emitPipelinedKernel(SpaceKernel &kernel, const PipelinedSpace &space, bool sections);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PIPELINEDKERNEL_H
