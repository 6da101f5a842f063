//===- CascadeCost.h - what reading a prefix once is worth ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_CASCADECOST_H
#define PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_CASCADECOST_H

#include "pagefold/Dialect/Attn/IR/Attn.h"
#include <string>

namespace pagefold::attn {

/// Bytes that the largest call moves for a prefix of `keys`: what both ways move is left out.
struct CascadeCost {
  int64_t requests, keys;
  int64_t each;     ///< the prefix, once for each request
  int64_t once;     ///< the prefix, once
  int64_t merge;    ///< two states written and read, queries read again, tables of the parts
  int64_t launches; ///< what memory brings while the kernels that come with it are launched

  bool pays() const { return once + merge + launches < each; }
  std::string text() const;
};

/// Kernels that a cascade has more: the cut, attention over the prefix, the merge.
inline constexpr int64_t kCascadeKernels = 3;

CascadeCost cascadeCost(AttentionOp op, BoundsAttr bounds, int64_t keys, int64_t launchBytes);

} // namespace pagefold::attn

#endif // PAGEFOLD_LIB_DIALECT_ATTN_TRANSFORMS_CASCADECOST_H
