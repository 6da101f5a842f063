//===- HopperToLLVM.cpp - the last passes on Hopper -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Target/Hopper/Passes.h"

using namespace mlir;

void pagefold::hopper::buildHopperToLLVM(OpPassManager &manager,
                                         const HopperToLLVMOptions &options) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  HopperToNVVMOptions lowering;
  lowering.pollLimit = options.pollLimit;
  kernels.addPass(createHopperToNVVM(lowering));
  kernels.addPass(createConvertNVVMToLLVMPass());
}

void pagefold::hopper::registerHopperPipelines() {
  PassPipelineRegistration<HopperToLLVMOptions>("pagefold-hopper-to-llvm",
                                                "Level 3 on the GPU to the llvm and nvvm dialects",
                                                buildHopperToLLVM);
}
