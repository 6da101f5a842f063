//===- ExpandMath.cpp - transcendental functions as polynomials -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pagefold/Target/Host/Passes.h"

namespace pagefold::host {
#define GEN_PASS_DEF_HOSTEXPANDMATH
#include "pagefold/Target/Host/Passes.h.inc"
} // namespace pagefold::host

using namespace mlir;

namespace {

/// exp2(x) = 2^n exp(f ln 2) with n = round(x), f = x - n: upstream has no polynomial for exp2. The
/// scaling is by two factors, so that results down to the denormals and up to infinity are right.
struct ExpandExp2 final : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expects f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType(), ints = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      ints = vector.clone(b.getI32Type());
    auto constant = [&](Type like, TypedAttr value) -> Value {
      auto vector = dyn_cast<VectorType>(like);
      return arith::ConstantOp::create(b, vector ? DenseElementsAttr::get(vector, value) : value);
    };
    auto real = [&](float value) { return constant(type, b.getF32FloatAttr(value)); };
    auto integer = [&](int32_t value) { return constant(ints, b.getI32IntegerAttr(value)); };
    Value x = arith::MaximumFOp::create(b, op.getOperand(), real(-252));
    x = arith::MinimumFOp::create(b, x, real(256));
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
    Value safe = arith::SelectOp::create(b, isNumber, x, real(0)); // a NaN has no integer
    Value n = math::RoundEvenOp::create(b, safe);
    Value f = arith::SubFOp::create(b, x, n);
    Value y = math::ExpOp::create(b, arith::MulFOp::create(b, f, real(0.693147180559945F)));
    Value whole = arith::FPToSIOp::create(b, ints, n);
    Value half = arith::ShRSIOp::create(b, whole, integer(1));
    auto power = [&](Value exponent) -> Value {
      Value biased = arith::AddIOp::create(b, exponent, integer(127));
      return arith::BitcastOp::create(b, type, arith::ShLIOp::create(b, biased, integer(23)));
    };
    y = arith::MulFOp::create(b, y, power(half));
    y = arith::MulFOp::create(b, y, power(arith::SubIOp::create(b, whole, half)));
    rewriter.replaceOp(op, y);
    return success();
  }
};

struct HostExpandMath : pagefold::host::impl::HostExpandMathBase<HostExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // rsqrt and its kind stay: upstream would make them x86 intrinsics.
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) { return name != "math.rsqrt"; });
    patterns.add<ExpandExp2>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
