//===- Passes.h - the last steps on Hopper ----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_PASSES_H
#define PAGEFOLD_TARGET_HOPPER_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace pagefold::hopper {

#define GEN_PASS_DECL
#include "pagefold/Target/Hopper/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "pagefold/Target/Hopper/Passes.h.inc"

struct HopperToLLVMOptions : mlir::PassPipelineOptions<HopperToLLVMOptions> {
  Option<int64_t> pollLimit{
      *this, "poll-limit",
      llvm::cl::desc(
          "Polls after which a wait prints where it stands and ends the kernel (0: none)"),
      llvm::cl::init(0)};
};

/// From level 3 to what translates to LLVM IR: simt kernels by upstream's conversions and
/// simt-frame-entry, hopper kernels by hopper-to-nvvm, then upstream's pass for the nvvm ops that
/// are inline PTX.
void buildHopperToLLVM(mlir::OpPassManager &manager, const HopperToLLVMOptions &options = {});

/// Names the pipeline pagefold-hopper-to-llvm.
void registerHopperPipelines();

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_PASSES_H
