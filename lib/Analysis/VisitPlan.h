//===- VisitPlan.h - how intervals of keys become visit ranges --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_VISITPLAN_H
#define PAGEFOLD_LIB_ANALYSIS_VISITPLAN_H

#include "TileSpace.h"
#include "pagefold/Analysis/TileBounds.h"

namespace pagefold {

/// Fills in `order`, `pieces` and `mayBeEmpty` of bounds whose intervals are derived.
void planVisits(const TileSpace &space, TileBounds &bounds);

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_VISITPLAN_H
