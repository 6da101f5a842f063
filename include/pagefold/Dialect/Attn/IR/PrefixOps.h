//===- PrefixOps.h - shared prefixes in the attn dialect --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS_H
#define PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS_H

#include "pagefold/Dialect/Attn/IR/Attn.h"

#define GET_OP_CLASSES
#include "pagefold/Dialect/Attn/IR/PrefixOps.h.inc"

namespace pagefold::attn {

/// What says that the requests of `cache` share a prefix, now or before it was appended to; null
/// where nothing does.
SharedPrefixOp getSharedPrefix(mlir::Value cache);

/// All values that are `cache` under another name, or are cut out of it; `cache` among them.
llvm::SmallVector<mlir::Value> getAliases(mlir::Value cache);

} // namespace pagefold::attn

#endif // PAGEFOLD_DIALECT_ATTN_IR_PREFIXOPS_H
