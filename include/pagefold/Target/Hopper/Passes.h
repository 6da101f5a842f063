//===- Passes.h - the last steps on Hopper ----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_PASSES_H
#define PAGEFOLD_TARGET_HOPPER_PASSES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace pagefold::hopper {

struct HopperToLLVMOptions : mlir::PassPipelineOptions<HopperToLLVMOptions> {
  Option<int64_t> pollLimit{
      *this, "poll-limit",
      llvm::cl::desc(
          "Polls after which a wait prints where it stands and ends the kernel (0: none)"),
      llvm::cl::init(0)};
};

/// From the hopper dialect to what translates to LLVM IR: hopper-to-nvvm, then upstream's pass for
/// the nvvm ops that are inline PTX.
void buildHopperToLLVM(mlir::OpPassManager &manager, const HopperToLLVMOptions &options = {});

/// Names the pipeline pagefold-hopper-to-llvm.
void registerHopperPipelines();

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_PASSES_H
