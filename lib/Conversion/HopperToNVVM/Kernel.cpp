//===- Kernel.cpp - kernels, numbers of threads, barriers -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// What the runtime must know
//===----------------------------------------------------------------------===//

/// Threads, shared bytes and the maps that the runtime encodes, from the kernel before it is
/// lowered.
DictionaryAttr pagefold::hopper::launchRecipe(KernelOp kernel) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> maps;
  for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (auto map = dyn_cast<TensorMapType>(type))
      maps.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("argument", builder.getI64IntegerAttr(number)),
           builder.getNamedAttr("box", builder.getDenseI64ArrayAttr(map.getBox())),
           builder.getNamedAttr("element", TypeAttr::get(map.getElementType())),
           builder.getNamedAttr("swizzle", builder.getI64IntegerAttr(kHopper.swizzleBytes))}));
  RolesOp roles = *kernel.getBody().front().getOps<RolesOp>().begin();
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("shared", builder.getI64IntegerAttr(SharedMemoryMap(kernel).bytes())),
       builder.getNamedAttr("tensor_maps", builder.getArrayAttr(maps)),
       builder.getNamedAttr("threads", builder.getI64IntegerAttr(roles.threads()))});
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

class LowerKernel : public ConvertOpToLLVMPattern<KernelOp> {
public:
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(KernelOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TypeConverter::SignatureConversion signature(op.getArgumentTypes().size());
    if (failed(getTypeConverter()->convertSignatureArgs(op.getArgumentTypes(), signature)))
      return failure();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()),
                                            signature.getConvertedTypes());
    auto function = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getSymName(), type);
    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter(), &signature)))
      return failure();
    setAttributes(function, op, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void setAttributes(LLVM::LLVMFuncOp function, KernelOp op, Builder &builder) {
    auto recipe = op->getAttrOfType<DictionaryAttr>(kLaunchRecipe);
    auto threads = static_cast<int32_t>(recipe.getAs<IntegerAttr>("threads").getInt());
    function->setAttr(kLaunchRecipe, recipe);
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      builder.getDenseI32ArrayAttr({threads}));
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    function.setPassthroughAttr(
        builder.getArrayAttr(builder.getStrArrayAttr({"denormal-fp-math-f32", "preserve-sign"})));
    for (auto [number, type] : llvm::enumerate(op.getArgumentTypes()))
      if (isa<TensorMapType>(type))
        setTensorMapAttributes(function, number, builder);
  }

  /// By value; without grid_constant it would be copied to local memory, where TMA cannot read it.
  static void setTensorMapAttributes(LLVM::LLVMFuncOp function, unsigned number, Builder &builder) {
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
    function.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
    function.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                        builder.getUnitAttr());
  }
};

class LowerReturn : public ConvertOpToLLVMPattern<ReturnOp> {
public:
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(ReturnOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers, tickets, named barriers
//===----------------------------------------------------------------------===//

static Value lowerLane(LaneOp, LaneOp::Adaptor, Emitter &emitter) { return emitter.lane(); }

static Value lowerThread(ThreadOp, ThreadOp::Adaptor, Emitter &emitter) { return emitter.thread(); }

static Value lowerCta(CtaOp, CtaOp::Adaptor, Emitter &emitter) {
  return NVVM::BlockIdXOp::create(emitter.builder, emitter.loc, emitter.builder.getI32Type());
}

static Value lowerCtas(CtasOp, CtasOp::Adaptor, Emitter &emitter) {
  return NVVM::GridDimXOp::create(emitter.builder, emitter.loc, emitter.builder.getI32Type());
}

static Value lowerTicket(TicketOp, TicketOp::Adaptor adaptor, Emitter &emitter) {
  Value counter = adaptor.getCounter();
  if (adaptor.getIndex())
    counter = emitter.elementAddress(counter, emitter.builder.getI32Type(), adaptor.getIndex());
  return LLVM::AtomicRMWOp::create(emitter.builder, emitter.loc, LLVM::AtomicBinOp::uinc_wrap,
                                   counter, adaptor.getLast(), LLVM::AtomicOrdering::monotonic,
                                   "device");
}

static void lowerBarrierSync(BarrierSyncOp op, BarrierSyncOp::Adaptor adaptor, Emitter &emitter) {
  emitter.assembly({}, "bar.sync $0, " + std::to_string(op.getThreads()) + ";", "r,~{memory}",
                   adaptor.getBarrier());
}

static void lowerBarrierArrive(BarrierArriveOp op, BarrierArriveOp::Adaptor adaptor,
                               Emitter &emitter) {
  emitter.assembly({}, "bar.arrive $0, " + std::to_string(op.getThreads()) + ";", "r,~{memory}",
                   adaptor.getBarrier());
}

void pagefold::hopper::addKernelLowerings(const LoweringContext &context) {
  context.patterns.add<LowerKernel, LowerReturn>(context.converter);
  addLowering(context, lowerLane);
  addLowering(context, lowerThread);
  addLowering(context, lowerCta);
  addLowering(context, lowerCtas);
  addLowering(context, lowerTicket);
  addLowering(context, lowerBarrierSync);
  addLowering(context, lowerBarrierArrive);
}
