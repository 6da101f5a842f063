//===- Producer.h - the warps that bring tiles to shared memory -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

/// Two warps, so that a wait for a stage of one ring holds no copy into the other back: for each
/// query tile that the scheduler hands over, the KV tiles of its visit list from the newest to the
/// oldest. The keys' warp brings the queries too, with their note, which ends the consumers; then
/// it hands the tile on to the values' warp: the first values come behind what is needed before
/// them.
void emitKeyProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                     const SharedAllocations &shared);
void emitValueProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                       const SharedAllocations &shared);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H
