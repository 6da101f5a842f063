//===- Roles.h - what arguments are to the ops that use them ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_ROLES_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_ROLES_H

#include "Graph.h"

namespace pagefold::run {

/// The first role that a use gives `value`, looking through reshapes and into captures.
Role roleOf(mlir::Value value);

/// The function argument that `value` is, perhaps through reshapes.
std::optional<unsigned> argumentOf(mlir::Value value);

/// Which cache a cache value is, through appends.
std::optional<int64_t> cacheOf(mlir::Value value, const std::vector<CacheParameters> &caches,
                               const std::vector<Parameter> &parameters);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_ROLES_H
