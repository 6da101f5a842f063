//===- Math.cpp - functions of the special function unit -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not upstream's lowering of math: it makes libdevice calls, which stay unresolved without CUDA.
// One row for each op that score and epilogue regions may hold. Denormals count as zeros, NaN and
// infinities are as in C. Errors, in units of the last place (ulp) or absolute:
//
//   exp2, rsqrt, divf   2 ulp
//   exp                 2 + |x| ulp
//   sqrt                1 ulp
//   log2, log           2^-22 for results below 1, 3 ulp for others
//   tanh                2^-21
//   erf                 2^-20
//   sin, cos            2^-20 where |x| < 2^20
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/IR/Math.h"
#include "Lowerings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pagefold::hopper;

static constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

/// The value of a function of f32 for one element's operands.
using Function = Value (*)(Emitter &, ValueRange);

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

static Value exp2Of(Emitter &emitter, Value x) { return emitter.intrinsic(kExp2, x); }

static Value exp2(Emitter &emitter, ValueRange x) { return exp2Of(emitter, x[0]); }

static Value exp(Emitter &emitter, ValueRange x) {
  return exp2Of(emitter, emitter.mulF(x[0], emitter.f32(kLog2E)));
}

static Value log2(Emitter &emitter, ValueRange x) { return emitter.intrinsic(kLog2, x[0]); }

static Value log(Emitter &emitter, ValueRange x) {
  return emitter.mulF(log2(emitter, x), emitter.f32(kLn2));
}

static Value sqrt(Emitter &emitter, ValueRange x) {
  return emitter.intrinsic("llvm.nvvm.sqrt.approx.ftz.f", x[0]);
}

static Value rsqrt(Emitter &emitter, ValueRange x) {
  return emitter.intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", x[0]);
}

/// 1 - 2 / (1 + e^2x): at the ends e^2x is 0 or infinite. tanh.approx has 11 bits.
static Value tanh(Emitter &emitter, ValueRange x) {
  Value power = exp2Of(emitter, emitter.mulF(x[0], emitter.f32(2 * kLog2E)));
  Value inverse = emitter.intrinsic(kReciprocal, emitter.addF(power, emitter.f32(1)));
  return emitter.fma(inverse, emitter.f32(-2), emitter.f32(1));
}

/// Abramowitz and Stegun 7.1.26: 1 - t (a1 + .. + a5 t^4) e^(-x^2), t = 1 / (1 + p |x|).
static Value erf(Emitter &emitter, ValueRange x) {
  Value magnitude = LLVM::FAbsOp::create(emitter.builder, emitter.loc, x[0]);
  Value t = emitter.intrinsic(kReciprocal,
                              emitter.fma(magnitude, emitter.f32(0.3275911), emitter.f32(1)));
  Value sum = emitter.f32(1.061405429);
  for (double coefficient : {-1.453152027, 1.421413741, -0.284496736, 0.254829592})
    sum = emitter.fma(sum, t, emitter.f32(coefficient));
  Value square = emitter.mulF(magnitude, magnitude);
  Value power = exp2Of(emitter, emitter.mulF(square, emitter.f32(-kLog2E)));
  Value tail = emitter.mulF(emitter.mulF(sum, t), power);
  Value positive = emitter.fma(tail, emitter.f32(-1), emitter.f32(1));
  return LLVM::CopySignOp::create(emitter.builder, emitter.loc, positive, x[0]);
}

/// x less the nearest multiple of 2 pi: the unit's sine is good to 2^-20 between -pi and pi.
static Value reduceAngle(Emitter &emitter, Value x) {
  constexpr double turn = 6.283185307179586;
  constexpr float high = turn;
  Value turns = LLVM::RoundEvenOp::create(emitter.builder, emitter.loc,
                                          emitter.mulF(x, emitter.f32(1 / turn)));
  Value rest = emitter.fma(turns, emitter.f32(-high), x);
  return emitter.fma(turns, emitter.f32(high - turn), rest);
}

static Value sin(Emitter &emitter, ValueRange x) {
  return emitter.intrinsic("llvm.nvvm.sin.approx.ftz.f", reduceAngle(emitter, x[0]));
}

static Value cos(Emitter &emitter, ValueRange x) {
  return emitter.intrinsic("llvm.nvvm.cos.approx.ftz.f", reduceAngle(emitter, x[0]));
}

/// Not div.rn: its slow path is a call, which makes ptxas serialise wgmma.
static Value divide(Emitter &emitter, ValueRange x) {
  return emitter.intrinsic("llvm.nvvm.div.full.ftz", x);
}

static Value fma(Emitter &emitter, ValueRange x) { return emitter.fma(x[0], x[1], x[2]); }

template <typename LLVMOp> static Value instruction(Emitter &emitter, ValueRange x) {
  return LLVMOp::create(emitter.builder, emitter.loc, x[0]);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

/// Applies a function to a scalar, or to each element of a vector.
template <typename Op> class LowerFunction : public ConvertOpToLLVMPattern<Op> {
public:
  LowerFunction(const LoweringContext &context, Function function)
      // Above the pattern that upstream has for divf.
      : ConvertOpToLLVMPattern<Op>(context.converter, /*benefit=*/2), places(context.places),
        function(function) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getType()).isF32() || (vector && vector.getRank() != 1))
      return rewriter.notifyMatchFailure(op, "expects f32 or a vector of it");
    Emitter emitter(rewriter, op.getLoc(), places);
    if (!vector) {
      rewriter.replaceOp(op, function(emitter, adaptor.getOperands()));
      return success();
    }
    SmallVector<Value> results;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      results.push_back(function(emitter, llvm::map_to_vector(adaptor.getOperands(), [&](Value x) {
                                   return emitter.element(x, i);
                                 })));
    rewriter.replaceOp(op, emitter.vector(results));
    return success();
  }

private:
  const SharedPlaces &places;
  Function function;
};

} // namespace

template <typename Op> static void addFunction(const LoweringContext &context, Function function) {
  context.patterns.add<LowerFunction<Op>>(context, function);
}

void pagefold::hopper::addMathLowerings(const LoweringContext &context) {
  addFunction<arith::DivFOp>(context, divide);
  addFunction<math::AbsFOp>(context, instruction<LLVM::FAbsOp>);
  addFunction<math::CeilOp>(context, instruction<LLVM::FCeilOp>);
  addFunction<math::CosOp>(context, cos);
  addFunction<math::ErfOp>(context, erf);
  addFunction<math::Exp2Op>(context, exp2);
  addFunction<math::ExpOp>(context, exp);
  addFunction<math::FloorOp>(context, instruction<LLVM::FFloorOp>);
  addFunction<math::FmaOp>(context, fma);
  addFunction<math::Log2Op>(context, log2);
  addFunction<math::LogOp>(context, log);
  addFunction<math::RsqrtOp>(context, rsqrt);
  addFunction<math::SinOp>(context, sin);
  addFunction<math::SqrtOp>(context, sqrt);
  addFunction<math::TanhOp>(context, tanh);
}
