//===- MaskComplement.h - what a mask hides ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_ANALYSIS_MASKCOMPLEMENT_H
#define PAGEFOLD_LIB_ANALYSIS_MASKCOMPLEMENT_H

#include "TileSpace.h"
#include <optional>

namespace pagefold {

/// The keys k >= 0 that a row of the box does not see: the complement of a union of conjunctions,
/// and every k >= kv_len. By De Morgan: one negated constraint of each conjunction. Branches that
/// are empty, or part of another, are dropped. Nothing if more than `maxDisjuncts` remain.
///
/// This works on expressions and not on Presburger relations, whose complement forgets constraints
/// that look like the definition of a division.
std::optional<Conditions> hiddenKeys(const TileSpace &space, llvm::ArrayRef<Conjunction> visible,
                                     size_t maxDisjuncts);

} // namespace pagefold

#endif // PAGEFOLD_LIB_ANALYSIS_MASKCOMPLEMENT_H
