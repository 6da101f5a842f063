//===- HopperToLLVM.cpp - the last passes on Hopper -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Target/Hopper/Passes.h"
#include "pagefold/Target/Host/Passes.h"

using namespace mlir;

/// Simt kernels, by the host's passes as far as these know no processor.
static void addSimtToLLVM(OpPassManager &kernels) {
  OpPassManager &function = kernels.nest<func::FuncOp>();
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(createCSEPass());
  function.addPass(pagefold::host::createHostExpandMath());
  function.addPass(pagefold::host::createHostExpandF8());
  function.addPass(memref::createExpandStridedMetadataPass()); // views become offset arithmetic
  function.addPass(createLowerAffinePass());                   // which is written in affine
  function.addPass(createSCFToControlFlowPass());
  kernels.addPass(pagefold::hopper::createSimtToNVVM());
  kernels.addPass(pagefold::hopper::createSimtFrameEntry());
}

void pagefold::hopper::buildHopperToLLVM(OpPassManager &manager,
                                         const HopperToLLVMOptions &options) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  addSimtToLLVM(kernels);
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
