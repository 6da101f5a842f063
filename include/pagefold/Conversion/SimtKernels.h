//===- SimtKernels.h - kernels of one thread a worker -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_SIMTKERNELS_H
#define PAGEFOLD_CONVERSION_SIMTKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "pagefold/Conversion/LaunchPlan.h"

namespace pagefold {

/// Where the simt kernels of one function go.
struct SimtModule {
  mlir::func::FuncOp function;    ///< the level-2 function
  mlir::gpu::GPUModuleOp kernels; ///< receives the kernels
  WorkspaceLayout &layout;        ///< of all kernels of the function
  bool counters = false;
  int64_t rowLanes = 1; ///< at most so many lanes share a row; more than 1 is for warps only
  LaunchOrder order = {};
};

/// Whether an op of a level-2 function is work for a simt kernel. Batches are none: each kernel
/// checks the requests that it uses. What else the op needs is found by the kernels that use it.
bool isSimtWork(mlir::Operation *op);

/// Lowers one op with work to a function `symbol` of the gpu.module, over (the function's
/// arguments..., workspace, error word), in which every thread draws items of its own. Returns its
/// entry in the plan. Errors are diagnostics on the op.
mlir::FailureOr<mlir::DictionaryAttr> emitSimtKernel(mlir::Operation *op, llvm::StringRef symbol,
                                                     const SimtModule &module);

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_SIMTKERNELS_H
