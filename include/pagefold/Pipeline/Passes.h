//===- Passes.h - what holds after each level -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_PIPELINE_PASSES_H
#define PAGEFOLD_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pagefold {

#define GEN_PASS_DECL
#include "pagefold/Pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pagefold/Pipeline/Passes.h.inc"

} // namespace pagefold

#endif // PAGEFOLD_PIPELINE_PASSES_H
