//===- LazyRescale.cpp - rescales only where a maximum has grown ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Dialect/Hopper/Transforms/Passes.h"

namespace pagefold::hopper {
#define GEN_PASS_DEF_HOPPERLAZYRESCALE
#include "pagefold/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace pagefold::hopper

using namespace mlir;
using namespace pagefold::hopper;

/// How much a maximum may grow, as an exponent of 2, before a row takes it.
static constexpr float kMaxGrowth = 8;

namespace {

/// `factor` = 2^((oldMax - newMax) * scale), multiplied out or not, with newMax a step's maximum.
struct FactorMatch {
  ApproxOp factor;
  arith::MaxNumFOp newMax;
  Value oldMax, scale;
};

} // namespace

/// The product of a maximum and a scale, behind a guard against -inf.
static arith::MulFOp scaledMaximum(Value value) {
  if (auto guard = value.getDefiningOp<arith::SelectOp>())
    value = guard.getFalseValue();
  return value.getDefiningOp<arith::MulFOp>();
}

/// newMax = max(that of a step's scores, oldMax). The maximum of two states has no step: their merge
/// rescales both.
static bool isStepMaximum(arith::MaxNumFOp newMax, Value oldMax) {
  return newMax && newMax.getRhs() == oldMax && newMax.getLhs().getDefiningOp<QuadReduceOp>();
}

/// 2^((oldMax - newMax) * scale).
static std::optional<FactorMatch> matchScaledDifference(ApproxOp factor) {
  auto scaled = factor.getRows().getDefiningOp<arith::MulFOp>();
  auto difference = scaled ? scaled.getLhs().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  if (!difference)
    return std::nullopt;
  Value subtracted = difference.getRhs();
  if (auto guard = subtracted.getDefiningOp<arith::SelectOp>())
    subtracted = guard.getFalseValue();
  auto newMax = subtracted.getDefiningOp<arith::MaxNumFOp>();
  if (!isStepMaximum(newMax, difference.getLhs()))
    return std::nullopt;
  return FactorMatch{factor, newMax, difference.getLhs(), scaled.getRhs()};
}

static std::optional<FactorMatch> matchFactor(ApproxOp factor) {
  if (factor.getKind() != ApproxKind::Exp2)
    return std::nullopt;
  if (std::optional<FactorMatch> match = matchScaledDifference(factor))
    return match;
  auto difference = factor.getRows().getDefiningOp<arith::AddFOp>();
  if (!difference)
    return std::nullopt;
  auto oldTop = difference.getLhs().getDefiningOp<arith::MulFOp>();
  auto negated = difference.getRhs().getDefiningOp<arith::NegFOp>();
  arith::MulFOp newTop = negated ? scaledMaximum(negated.getOperand()) : arith::MulFOp();
  if (!oldTop || !newTop || oldTop.getRhs() != newTop.getRhs())
    return std::nullopt;
  auto newMax = newTop.getLhs().getDefiningOp<arith::MaxNumFOp>();
  if (!isStepMaximum(newMax, oldTop.getLhs()))
    return std::nullopt;
  return FactorMatch{factor, newMax, oldTop.getLhs(), oldTop.getRhs()};
}

static Value constantRows(ImplicitLocOpBuilder &b, float value) {
  auto type = VectorType::get({2}, b.getF32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

/// The row keeps its maximum, and the factor is exactly 1, where growth is small.
static void makeLazy(FactorMatch match) {
  ImplicitLocOpBuilder b(match.factor.getLoc(), match.factor.getContext());
  // The scale on both rows may stand where it was first used.
  Operation *scale = match.scale.getDefiningOp();
  if (scale && scale->getBlock() == match.newMax->getBlock() &&
      match.newMax->isBeforeInBlock(scale))
    scale->moveBefore(match.newMax);
  b.setInsertionPointAfter(match.newMax);
  auto contract = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
  Value growth = arith::SubFOp::create(b, match.newMax.getResult(), match.oldMax, contract);
  Value scaled = arith::MulFOp::create(b, growth, match.scale, contract);
  Value grew =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scaled, constantRows(b, kMaxGrowth));
  auto kept = arith::SelectOp::create(b, grew, match.newMax.getResult(), match.oldMax);
  match.newMax.getResult().replaceUsesWithIf(kept, [&](OpOperand &use) {
    return use.getOwner() != kept && use.getOwner() != growth.getDefiningOp();
  });
  b.setInsertionPointAfter(match.factor);
  Value one = constantRows(b, 1);
  auto factor = arith::SelectOp::create(b, grew, match.factor.getResult(), one);
  match.factor.getResult().replaceAllUsesExcept(factor, factor);
}

/// A warp whose factors are all 1 skips the product.
static void makeConditional(ScaleRowsOp scale) {
  ImplicitLocOpBuilder b(scale.getLoc(), scale);
  // At the head of the block where it comes from the step before: the comparison is out of the way.
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  if (auto argument = dyn_cast<BlockArgument>(scale.getFactors());
      argument && argument.getOwner() == scale->getBlock())
    b.setInsertionPointToStart(scale->getBlock());
  Value factors = OpaqueOp::create(b, scale.getFactors().getType(), scale.getFactors());
  b.restoreInsertionPoint(here);
  Value one = constantRows(b, 1);
  Value other = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factors, one);
  Value any = AnyOp::create(b, b.getI1Type(), other);
  auto branch = scf::IfOp::create(b, TypeRange{scale.getType()}, any, /*withElseRegion=*/true);
  scale.getResult().replaceAllUsesWith(branch.getResult(0));
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, scale.getFragment());
  scale->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  scale.getFactorsMutable().assign(factors);
  b.setInsertionPointAfter(scale);
  scf::YieldOp::create(b, scale.getResult());
}

namespace {

struct HopperLazyRescale : pagefold::hopper::impl::HopperLazyRescaleBase<HopperLazyRescale> {
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) { relax(kernel); });
  }

  static void relax(KernelOp kernel) {
    SmallVector<ScaleRowsOp> scales;
    kernel.walk([&](ScaleRowsOp op) {
      if (isRescale(op))
        scales.push_back(op);
    });
    if (scales.empty())
      return; // its accumulators are rescaled on the way into a product, at no cost
    // The factors before any use changes. Through a loop's arguments a factor is followed by the
    // type of its use: rescaling the accumulator.
    SmallVector<FactorMatch> factors;
    kernel.walk([&](ApproxOp op) {
      if (std::optional<FactorMatch> match = matchFactor(op))
        factors.push_back(*match);
    });
    if (factors.empty())
      return;
    for (const FactorMatch &match : factors)
      makeLazy(match);
    for (ScaleRowsOp scale : scales)
      makeConditional(scale);
  }

  /// A rescale feeds a product's accumulator; the division at the end does not.
  static bool isRescale(ScaleRowsOp op) {
    return llvm::any_of(op.getResult().getUses(), [&](OpOperand &use) {
      auto product = dyn_cast<ContractOp>(use.getOwner());
      return product && product.getAcc() == op.getResult();
    });
  }
};

} // namespace
