//===- ExpandF8.cpp - conversions of f8E4M3FN as integer arithmetic -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f8E4M3FN: a sign, 4 bits of exponent with bias 7, 3 bits of fraction. Exponent 0 is subnormal,
// units of 2^-9; all ones but the sign is NaN; there are no infinities, 448 is the greatest.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pagefold/Target/Host/Passes.h"

namespace pagefold::host {
#define GEN_PASS_DEF_HOSTEXPANDF8
#include "pagefold/Target/Host/Passes.h.inc"
} // namespace pagefold::host

using namespace mlir;

namespace {

constexpr int64_t kSign = 0x80, kMagnitude = 0x7F, kNaN = 0x7F;
constexpr int64_t kFractionBits = 3, kWideFractionBits = 23;
constexpr int64_t kShift = kWideFractionBits - kFractionBits; ///< of a fraction
constexpr int64_t kRebias = 127 - 7;
constexpr int64_t kLeastNormal = 1 << kFractionBits; ///< 2^-6
constexpr float kUnit = 0x1p-9F;                     ///< of subnormals

/// Arithmetic on scalars or vectors of the shape of `shape`.
class Builder : public ImplicitLocOpBuilder {
public:
  Builder(Location loc, OpBuilder &builder, Type shape)
      : ImplicitLocOpBuilder(loc, builder), shape(shape) {}

  Type like(Type element) {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    auto vector = dyn_cast<VectorType>(like(value.getType()));
    return arith::ConstantOp::create(*this, vector ? DenseElementsAttr::get(vector, value) : value);
  }
  Value integer(int64_t value) { return constant(getI32IntegerAttr(static_cast<int32_t>(value))); }
  Value real(float value) { return constant(getF32FloatAttr(value)); }
  template <typename Op> Value cast(Type element, Value value) {
    return Op::create(*this, like(element), value);
  }
  template <typename Op> Value apply(Value a, int64_t b) {
    return Op::create(*this, a, integer(b));
  }
  Value bitsOf(Value real) { return cast<arith::BitcastOp>(getI32Type(), real); }
  Value isBelow(Value a, int64_t b) {
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, integer(b));
  }

private:
  Type shape;
};

bool isF8(Type type) { return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)); }
bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

struct ExpandExtF final : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isF8(op.getIn().getType()) || !isF32(op.getType()))
      return rewriter.notifyMatchFailure(op, "expects f8E4M3FN to f32");
    Builder b(op.getLoc(), rewriter, op.getType());
    Value byte =
        b.cast<arith::ExtUIOp>(b.getI32Type(), b.cast<arith::BitcastOp>(b.getI8Type(), op.getIn()));
    Value magnitude = b.apply<arith::AndIOp>(byte, kMagnitude);
    Value rebiased = b.apply<arith::AddIOp>(b.apply<arith::ShLIOp>(magnitude, kShift),
                                            kRebias << kWideFractionBits);
    Value normal = b.cast<arith::BitcastOp>(b.getF32Type(), rebiased);
    // Not the rebiased bits times a power of two: a subnormal of f32 is slow.
    Value subnormal =
        arith::MulFOp::create(b, b.cast<arith::UIToFPOp>(b.getF32Type(), magnitude), b.real(kUnit));
    Value finite =
        arith::SelectOp::create(b, b.isBelow(magnitude, kLeastNormal), subnormal, normal);
    Value absolute = arith::SelectOp::create(b, b.isBelow(magnitude, kNaN), finite,
                                             b.real(std::numeric_limits<float>::quiet_NaN()));
    Value sign = b.apply<arith::ShLIOp>(b.apply<arith::AndIOp>(byte, kSign), 24);
    Value bits = arith::OrIOp::create(b, b.bitsOf(absolute), sign);
    rewriter.replaceOp(op, b.cast<arith::BitcastOp>(b.getF32Type(), bits));
    return success();
  }
};

struct ExpandTruncF final : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  /// Nearest, ties to even: half a unit less one, and one where the unit's bit is odd.
  static Value roundNormal(Builder &b, Value magnitude) {
    Value odd = b.apply<arith::AndIOp>(b.apply<arith::ShRUIOp>(magnitude, kShift), 1);
    Value rounded =
        arith::AddIOp::create(b, b.apply<arith::AddIOp>(magnitude, (1 << (kShift - 1)) - 1), odd);
    return b.apply<arith::SubIOp>(b.apply<arith::ShRUIOp>(rounded, kShift),
                                  kRebias << kFractionBits);
  }

  /// The sum's unit is that of subnormals, so that the addition rounds.
  static Value roundSubnormal(Builder &b, Value magnitude) {
    Value ruler = b.real(kUnit * 0x1p23F);
    Value sum =
        arith::AddFOp::create(b, b.cast<arith::BitcastOp>(b.getF32Type(), magnitude), ruler);
    return arith::SubIOp::create(b, b.bitsOf(sum), b.bitsOf(ruler));
  }

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isF32(op.getIn().getType()) || !isF8(op.getType()))
      return rewriter.notifyMatchFailure(op, "expects f32 to f8E4M3FN");
    Builder b(op.getLoc(), rewriter, op.getType());
    Value bits = b.bitsOf(op.getIn());
    Value magnitude = b.apply<arith::AndIOp>(bits, 0x7FFFFFFF);
    int64_t leastNormal = (kRebias + 1) << kWideFractionBits;
    Value rounded =
        arith::SelectOp::create(b, b.isBelow(magnitude, leastNormal), roundSubnormal(b, magnitude),
                                roundNormal(b, magnitude));
    // NaN, and what lies past the greatest number, as APFloat has it.
    Value absolute = b.apply<arith::MinUIOp>(rounded, kNaN);
    Value sign = b.apply<arith::AndIOp>(b.apply<arith::ShRUIOp>(bits, 24), kSign);
    Value byte = b.cast<arith::TruncIOp>(b.getI8Type(), arith::OrIOp::create(b, absolute, sign));
    rewriter.replaceOp(op, b.cast<arith::BitcastOp>(getElementTypeOrSelf(op.getType()), byte));
    return success();
  }
};

struct HostExpandF8 : pagefold::host::impl::HostExpandF8Base<HostExpandF8> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtF, ExpandTruncF>(&getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
