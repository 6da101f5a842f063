//===- Passes.h - passes on the hopper dialect ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES_H
#define PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pagefold::hopper {

#define GEN_PASS_DECL
#include "pagefold/Dialect/Hopper/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pagefold/Dialect/Hopper/Transforms/Passes.h.inc"

} // namespace pagefold::hopper

#endif // PAGEFOLD_DIALECT_HOPPER_TRANSFORMS_PASSES_H
