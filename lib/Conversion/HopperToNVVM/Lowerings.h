//===- Lowerings.h - one op, its instructions -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering of an op is a function (op, converted operands, emitter) -> value, or nothing for an
// op without results. A file has the lowerings of related ops and adds them to the pass's patterns.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_LOWERINGS_H
#define PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_LOWERINGS_H

#include "Emitter.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "pagefold/Target/Hopper/LaunchRecipe.h"

namespace pagefold::hopper {

/// What every pattern needs.
struct LoweringContext {
  const mlir::LLVMTypeConverter &converter;
  const SharedPlaces &places;
  mlir::RewritePatternSet &patterns;
};

template <typename Op, typename Result> class Lowering : public mlir::ConvertOpToLLVMPattern<Op> {
public:
  using Function = Result (*)(Op, typename Op::Adaptor, Emitter &);

  Lowering(const LoweringContext &context, Function function)
      : mlir::ConvertOpToLLVMPattern<Op>(context.converter), places(context.places),
        function(function) {}

  mlir::LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                      mlir::ConversionPatternRewriter &rewriter) const override {
    Emitter emitter(rewriter, op.getLoc(), places);
    if constexpr (std::is_void_v<Result>) {
      function(op, adaptor, emitter);
      rewriter.eraseOp(op);
    } else {
      rewriter.replaceOp(op, function(op, adaptor, emitter));
    }
    return mlir::success();
  }

private:
  const SharedPlaces &places;
  Function function;
};

template <typename Op, typename Result>
void addLowering(const LoweringContext &context,
                 Result (*function)(Op, typename Op::Adaptor, Emitter &)) {
  context.patterns.add<Lowering<Op, Result>>(context, function);
}

void addKernelLowerings(const LoweringContext &context);
void addRingLowerings(const LoweringContext &context);
void addWaitLowerings(const LoweringContext &context);
void addTileCopyLowerings(const LoweringContext &context);
void addWarpLowerings(const LoweringContext &context);
void addProductLowerings(const LoweringContext &context);
void addBlockLowerings(const LoweringContext &context);
void addWordLowerings(const LoweringContext &context);
void addFragmentLowerings(const LoweringContext &context);
void addGlobalMemoryLowerings(const LoweringContext &context);
void addMathLowerings(const LoweringContext &context);

/// The address of this lane's row for ldmatrix and stmatrix: step `k` of 16 columns is at
/// `step(k)`. `tile` is the address of the tile's row 0, `row` the warpgroup's first row or null
/// for 0.
class MatrixRows {
public:
  MatrixRows(Emitter &emitter, mlir::Value tile, mlir::Value row, int64_t panelStride);
  mlir::Value step(int64_t k);

private:
  Emitter &emitter;
  mlir::Value base, unit;
  int64_t panelStride;
};

/// What a wait polls: an mbarrier, until the phase is over that `turn` of the ring needs.
struct Poll {
  mlir::Value barrier, turn, phase;
};

/// For debugging: marks the waits of all kernels, and gives the module the function that they call
/// after `limit` polls, which prints where the warp stands and ends the kernel.
void limitPolls(mlir::gpu::GPUModuleOp module, int64_t limit);
/// The limit of a marked wait; 0: none.
int64_t pollLimitOf(mlir::Operation *wait);
/// Where `late` (an i32) is not 0: gives up the marked wait. Its sentence has the two numbers, i32.
void giveUpIf(Emitter &emitter, mlir::Operation *wait, mlir::Value late, mlir::Value first,
              mlir::Value second);
/// The wait of a marked op for an mbarrier, where `isNeeded` (an i32) is not 0.
void waitWithLimit(Emitter &emitter, mlir::Operation *wait, const Poll &poll, mlir::Value isNeeded);

/// hopper.roles and hopper.single_thread become scf.if.
void lowerRoles(KernelOp kernel);

/// What kLaunchRecipe holds: {shared: bytes, tensor_maps: [{argument, box, element, swizzle}],
/// threads}.
mlir::DictionaryAttr launchRecipe(KernelOp kernel);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_HOPPERTONVVM_LOWERINGS_H
