//===- Scheduler.h - the warp that finds query tiles ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SCHEDULER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SCHEDULER_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

/// A warp of its own that draws tickets, finds their query tiles and visit lists, and hands them to
/// the producer one tile ahead: row offsets, lengths and a ticket are long reads, and divisions
/// long too. A note of -1 ends the producer.
void emitScheduler(SpaceKernel &kernel, const PipelinedSpace &space,
                   const SharedAllocations &shared, bool sections);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_SCHEDULER_H
