//===- HostToLLVM.cpp - from level 3 to level 4 on the host ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Target/Host/Passes.h"

namespace pagefold::host {
#define GEN_PASS_DEF_HOSTTOLLVM
#include "pagefold/Target/Host/Passes.h.inc"
} // namespace pagefold::host

using namespace mlir;

namespace {

struct HostToLLVM : pagefold::host::impl::HostToLLVMBase<HostToLLVM> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    // An instruction where there is one, else a call.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp, pagefold::tile::PlanOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void pagefold::host::buildHostToLLVM(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createConvertLinalgToLoopsPass()); // elementwise ops that fused into nothing
  function.addPass(createLoopInvariantCodeMotionPass());
  function.addPass(createCSEPass());
  function.addPass(createHostExpandMath());
  function.addPass(createHostExpandF8());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true; // exact rounding on every processor, denormals included
  function.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(memref::createExpandStridedMetadataPass()); // views become offset arithmetic
  manager.addPass(createLowerAffinePass());                   // which is written in affine
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createHostToLLVM());
  manager.addPass(createHostFrameEntry());
}
