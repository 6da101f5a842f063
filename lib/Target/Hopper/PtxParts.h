//===- PtxParts.h - kernels that become PTX side by side --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's passes and code generator take most of a compile, and see one kernel at a time: modules of
// one kernel each need nothing of each other. Which modules there are does not depend on the
// machine, and so neither does the text.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_TARGET_HOPPER_PTXPARTS_H
#define PAGEFOLD_LIB_TARGET_HOPPER_PTXPARTS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>

namespace pagefold::hopper {

/// Copies of the module, each with one of its kernels and all that is no kernel. One copy where
/// that would define something twice: a function that is not inlined, or a variable with a value.
llvm::SmallVector<mlir::OwningOpRef<mlir::gpu::GPUModuleOp>>
modulesOfKernels(mlir::gpu::GPUModuleOp module);

/// One PTX text of several, whose headers and declarations are the same or different ones.
std::string joinPtx(llvm::ArrayRef<std::string> texts);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_TARGET_HOPPER_PTXPARTS_H
