//===- Passes.h - the last steps on the host --------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOST_PASSES_H
#define PAGEFOLD_TARGET_HOST_PASSES_H

#include "mlir/Pass/Pass.h"

namespace pagefold::host {

#define GEN_PASS_DECL
#include "pagefold/Target/Host/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pagefold/Target/Host/Passes.h.inc"

/// Upstream's conversions from scf, vector, memref, math and arith to the llvm dialect, in order.
void buildHostToLLVM(mlir::OpPassManager &manager);

} // namespace pagefold::host

#endif // PAGEFOLD_TARGET_HOST_PASSES_H
