//===- Projection.h - the keys that some row satisfies ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_PROJECTION_H
#define PAGEFOLD_LIB_ANALYSIS_PROJECTION_H

#include "TileSpace.h"
#include "pagefold/Analysis/TileBounds.h"

namespace pagefold {

/// Projects { (rows, k) in the row box : conjunction } onto k: the keys k for which some row of the
/// tile satisfies `conjunction`, or a superset as the interval's method says. Nothing if there is
/// no such key for any value of the symbols.
std::optional<KeyInterval> projectOntoKeys(const TileSpace &space, const Conjunction &conjunction);

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_PROJECTION_H
