//===- StreamedCombine.h - merging the pieces of segments -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A segment that several warps have read is merged in two steps, each in the order of its keys, so
// that results do not depend on who comes when: the pieces of a CTA in shared memory, a packed row
// a warp; and the rows of several CTAs in the last one of them, to which the others hand theirs
// over through the workspace. A CTA hands over before it waits, and waits for CTAs with lower
// numbers only, which are started first: none waits for one that cannot run.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDCOMBINE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDCOMBINE_H

#include "StreamedResults.h"

namespace pagefold::hopper {

/// Merges what the warps of the CTA have left in the areas, once they have.
void emitStreamedCombine(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                         const StateAreas &areas, mlir::Value warp);
/// Before a warp leaves anything: its areas are empty.
void emitEmptyAreas(HopperBuilder &b, const StateAreas &areas, mlir::Value warp);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDCOMBINE_H
