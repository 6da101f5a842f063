//===- Passes.h - conversions between the levels ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_PASSES_H
#define PAGEFOLD_CONVERSION_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace pagefold {

#define GEN_PASS_DECL
#include "pagefold/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pagefold/Conversion/Passes.h.inc"

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_PASSES_H
