//===- SimtToNVVM.cpp - simt kernels to level 4 ---------------------------===//
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
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pagefold/Target/Hopper/Passes.h"

namespace pagefold::hopper {
#define GEN_PASS_DEF_SIMTTONVVM
#include "pagefold/Target/Hopper/Passes.h.inc"
} // namespace pagefold::hopper

using namespace mlir;

namespace {

/// A number of threads or CTAs along x, the one dimension of our grids: a special register of 32
/// bits.
template <typename From, typename To> struct NumberLowering : OpConversionPattern<From> {
  using OpConversionPattern<From>::OpConversionPattern;

  LogicalResult matchAndRewrite(From op, typename From::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return rewriter.notifyMatchFailure(op, "expects dimension x");
    Value number = To::create(rewriter, op.getLoc(), rewriter.getI32Type());
    Type index = this->getTypeConverter()->convertType(op.getType());
    rewriter.replaceOpWithNewOp<LLVM::ZExtOp>(op, index, number);
    return success();
  }
};

/// A special register of 32 bits without a dimension.
template <typename From, typename To> struct RegisterLowering : OpConversionPattern<From> {
  using OpConversionPattern<From>::OpConversionPattern;

  LogicalResult matchAndRewrite(From op, typename From::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value number = To::create(rewriter, op.getLoc(), rewriter.getI32Type());
    Type index = this->getTypeConverter()->convertType(op.getType());
    rewriter.replaceOpWithNewOp<LLVM::ZExtOp>(op, index, number);
    return success();
  }
};

/// The least i32 of a warp: the one reduction that teams need.
struct LeastOfWarp : OpConversionPattern<gpu::SubgroupReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(gpu::SubgroupReduceOp op, OpAdaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getOp() != gpu::AllReduceOperation::MINSI || !op.getType().isInteger(32) ||
        !op.getUniform() || op.getClusterSize())
      return rewriter.notifyMatchFailure(op, "expects a uniform minsi of i32 over the warp");
    Value all = LLVM::ConstantOp::create(rewriter, op.getLoc(), rewriter.getI32IntegerAttr(-1));
    rewriter.replaceOpWithNewOp<NVVM::ReduxOp>(op, op.getType(), operands.getValue(),
                                               NVVM::ReduxKind::MIN, all);
    return success();
  }
};

struct BarrierLowering : OpConversionPattern<gpu::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    NVVM::BarrierOp::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

/// What is left of math after the polynomials, and is an instruction or a few of integer type.
bool isInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp,
             math::IsFiniteOp, math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
             math::RoundOp, math::RsqrtOp, math::SqrtOp, math::TruncOp>(op);
}

LogicalResult checkMath(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    bool isMath = isa<math::MathDialect>(op->getDialect());
    if ((!isMath || isInstruction(op)) && !isa<arith::RemFOp>(op))
      return WalkResult::advance();
    op->emitOpError("has neither an instruction nor a polynomial on target cuda: write it with "
                    "others, such as exp and log, or compile for target host");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct SimtToNVVM : pagefold::hopper::impl::SimtToNVVMBase<SimtToNVVM> {
  void runOnOperation() override {
    SmallVector<Operation *> functions;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(checkMath(function)))
        return signalPassFailure();
      functions.push_back(function);
    }
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    // Upstream's whole set would also call CUDA's math library.
    patterns
        .add<NumberLowering<gpu::ThreadIdOp, NVVM::ThreadIdXOp>,
             NumberLowering<gpu::BlockIdOp, NVVM::BlockIdXOp>,
             NumberLowering<gpu::GridDimOp, NVVM::GridDimXOp>,
             NumberLowering<gpu::BlockDimOp, NVVM::BlockDimXOp>,
             RegisterLowering<gpu::LaneIdOp, NVVM::LaneIdOp>,
             RegisterLowering<gpu::SubgroupSizeOp, NVVM::WarpSizeOp>, LeastOfWarp, BarrierLowering>(
            converter, &getContext());
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<NVVM::NVVMDialect>();
    if (failed(applyFullConversion(functions, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
