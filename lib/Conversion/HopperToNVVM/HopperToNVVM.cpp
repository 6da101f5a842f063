//===- HopperToNVVM.cpp - from level 3 to instructions --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Target/Hopper/Chip.h"

namespace pagefold {
#define GEN_PASS_DEF_HOPPERTONVVM
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold::hopper;

namespace {

struct HopperToNVVM : pagefold::impl::HopperToNVVMBase<HopperToNVVM> {
  using HopperToNVVMBase::HopperToNVVMBase;

  void runOnOperation() override;

private:
  /// The kernels of the module: what else stands in it is left as it is.
  SmallVector<Operation *> kernels() {
    return llvm::to_vector_of<Operation *>(getOperation().getOps<KernelOp>());
  }
  LogicalResult lowerControlFlow();
  LogicalResult lowerOps();
  void addSharedMemory();
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Registers of a fragment: f32 each, or pairs of 16-bit elements in i32.
static Type convertFragment(FragmentType type) {
  MLIRContext *context = type.getContext();
  Type word = type.getElementType().isF32() ? Type(Float32Type::get(context))
                                            : Type(IntegerType::get(context, 32));
  return LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(type.registers(), word));
}

static void addTypes(LLVMTypeConverter &converter) {
  converter.addConversion([](FragmentType type) { return convertFragment(type); });
  // Shared allocations are the addresses of their first tiles.
  converter.addConversion([](SharedType type) { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion([](RingType type) { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion([](WordsType type) { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion(
      [](TensorMapType type) { return LLVM::LLVMPointerType::get(type.getContext()); });
  converter.addConversion([](PointerType type) {
    return LLVM::LLVMPointerType::get(type.getContext(),
                                      static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Roles become branches, and all structured control flow becomes blocks.
LogicalResult HopperToNVVM::lowerControlFlow() {
  getOperation().walk([](KernelOp kernel) {
    kernel->setAttr(kLaunchRecipe, launchRecipe(kernel));
    lowerRoles(kernel);
  });
  RewritePatternSet patterns(&getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(kernels(), target, std::move(patterns));
}

/// The dynamic shared memory: its size comes with the launch.
void HopperToNVVM::addSharedMemory() {
  OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, getOperation().getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedSymbol, Attribute(), kHopper.tileAlignment,
                         static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
}

LogicalResult HopperToNVVM::lowerOps() {
  SharedPlaces places;
  getOperation().walk([&](KernelOp kernel) {
    SharedMemoryMap map(kernel);
    kernel.walk([&](Operation *op) {
      if (isa<AllocOp, AllocRingOp, AllocWordsOp>(op))
        places[op] = map.of(op);
    });
  });
  LLVMTypeConverter converter(&getContext());
  addTypes(converter);
  RewritePatternSet patterns(&getContext());
  LoweringContext context{converter, places, patterns};
  addKernelLowerings(context);
  addRingLowerings(context);
  addWaitLowerings(context);
  addTileCopyLowerings(context);
  addWarpLowerings(context);
  addProductLowerings(context);
  addBlockLowerings(context);
  addWordLowerings(context);
  addFragmentLowerings(context);
  addGlobalMemoryLowerings(context);
  addMathLowerings(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(getContext());
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  return applyFullConversion(kernels(), target, std::move(patterns));
}

void HopperToNVVM::runOnOperation() {
  if (kernels().empty())
    return;
  if (pollLimit > 0)
    limitPolls(getOperation(), pollLimit);
  if (failed(lowerControlFlow()))
    return signalPassFailure();
  addSharedMemory();
  if (failed(lowerOps()))
    return signalPassFailure();
  for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(kLaunchRecipe))
      foldAggregates(function);
}
