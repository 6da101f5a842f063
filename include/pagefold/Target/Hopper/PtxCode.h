//===- PtxCode.h - PTX of a module of kernels -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_PTXCODE_H
#define PAGEFOLD_TARGET_HOPPER_PTXCODE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>

namespace pagefold::hopper {

/// Translates a gpu.module of the llvm and nvvm dialects to LLVM IR, optimises it, and writes PTX
/// for sm_90a with LLVM's NVPTX back end, in this process. The module stays as it is; errors are
/// diagnostics on it.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp module);

/// Names the translation --hopper-to-ptx, of a module with one gpu.module.
void registerPtxTranslation();

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_PTXCODE_H
