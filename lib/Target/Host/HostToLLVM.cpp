//===- HostToLLVM.cpp - upstream's way from level 3 to level 4 ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Target/Host/Passes.h"

using namespace mlir;

void pagefold::host::buildHostToLLVM(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createConvertLinalgToLoopsPass()); // elementwise ops that fused into nothing
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(createCSEPass());
  function.addPass(createHostExpandMath());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true; // exact rounding on every processor, denormals included
  function.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(memref::createExpandStridedMetadataPass()); // views become offset arithmetic
  manager.addPass(createLowerAffinePass());                   // which is written in affine
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass()); // sqrt, fma, floor: instructions
  manager.addPass(createConvertMathToLibmPass()); // what has no polynomial
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createHostFrameEntry());
}
