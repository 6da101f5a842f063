//===- Producer.h - the warp that brings tiles to shared memory -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H

#include "PipelinedSpace.h"

namespace pagefold::hopper {

/// The producer's warp: for each query tile that the scheduler hands over its queries, and the KV
/// tiles of its visit list from the newest to the oldest, K one tile ahead of V. The note goes on to
/// the consumers with the queries.
void emitProducer(SpaceKernel &kernel, const PipelinedSpace &space,
                  const SharedAllocations &shared);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PRODUCER_H
