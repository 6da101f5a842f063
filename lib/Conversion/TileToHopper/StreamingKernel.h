//===- StreamingKernel.h - a space on the streaming schedule ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMINGKERNEL_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMINGKERNEL_H

#include "StreamedSpace.h"

namespace pagefold::hopper {

/// Fills a kernel: eight warps, each with a ring of its own, which all run the same program.
void emitStreamingKernel(SpaceKernel &kernel, const StreamedSpace &space);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMINGKERNEL_H
