//===- OverlapProducts.cpp - scores one tile ahead of the output ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Dialect/Hopper/Transforms/Passes.h"
#include "pagefold/Target/Hopper/Chip.h"

namespace pagefold::hopper {
#define GEN_PASS_DEF_HOPPEROVERLAPPRODUCTS
#include "pagefold/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace pagefold::hopper

using namespace mlir;
using namespace pagefold::hopper;

namespace {

/// A step of the fold, in one block: scores, softmax, output.
struct Step {
  Operation *scores = nullptr; ///< contract or contract_shared
  WaitContractsOp scoresDone;
  ReleaseOp keysFree;
  Exp2Op weights;
  ConvertOp rounded;
  WaitOp valuesFull;
  ScaleRowsOp rescale; ///< null in the first step
  ContractOp output;
  WaitContractsOp outputDone;
  ReleaseOp valuesFree;
};

/// A step's loop and the fold's first step before it.
struct Fold {
  Step first;
  SmallVector<std::pair<scf::WhileOp, Step>> loops;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding steps
//===----------------------------------------------------------------------===//

template <typename Op> static Op onlyUser(Value value) {
  for (Operation *user : value.getUsers())
    if (auto op = dyn_cast<Op>(user))
      return op;
  return {};
}

/// The block's op on a ring.
template <typename Op> static Op ofRing(Block &block, Value ring) {
  for (Op op : block.getOps<Op>())
    if (op.getRing() == ring)
      return op;
  return {};
}

static std::optional<Step> findStep(Block &block) {
  Step step;
  Value keys;
  for (Operation &op : block) {
    if (auto product = dyn_cast<ContractOp>(op)) {
      if (product.getTransposed()) {
        step.scores = &op;
        keys = product.getRhs();
      } else {
        step.output = product;
      }
    } else if (auto shared = dyn_cast<ContractSharedOp>(op)) {
      step.scores = &op;
      keys = shared.getRhs();
    }
  }
  if (!step.scores || !step.output)
    return std::nullopt;
  step.scoresDone = onlyUser<WaitContractsOp>(step.scores->getResult(0));
  step.outputDone = onlyUser<WaitContractsOp>(step.output.getResult());
  step.rounded = step.output.getLhs().getDefiningOp<ConvertOp>();
  step.rescale = step.output.getAcc().getDefiningOp<ScaleRowsOp>();
  step.keysFree = ofRing<ReleaseOp>(block, keys);
  step.valuesFull = ofRing<WaitOp>(block, step.output.getRhs());
  step.valuesFree = ofRing<ReleaseOp>(block, step.output.getRhs());
  if (step.rounded)
    step.weights = step.rounded.getFragment().getDefiningOp<Exp2Op>();
  bool whole = step.scoresDone && step.outputDone && step.weights && step.keysFree &&
               step.valuesFull && step.valuesFree;
  return whole ? std::optional(step) : std::nullopt;
}

static std::optional<Fold> findFold(Block &block) {
  std::optional<Step> first = findStep(block);
  if (!first || first->rescale)
    return std::nullopt;
  Fold fold{*first, {}};
  for (auto loop : block.getOps<scf::WhileOp>())
    if (std::optional<Step> step = findStep(*loop.getAfterBody()); step && step->rescale)
      fold.loops.push_back({loop, *step});
  return fold;
}

static Value turnOfScores(const Step &step) {
  if (auto product = dyn_cast<ContractOp>(step.scores))
    return product.getTurn();
  return cast<ContractSharedOp>(step.scores).getTurn();
}

//===----------------------------------------------------------------------===//
// Delaying the output
//===----------------------------------------------------------------------===//

namespace {

class Overlap {
public:
  explicit Overlap(Fold fold)
      : fold(std::move(fold)), b(this->fold.first.output.getLoc(), this->fold.first.output) {}
  void run();

private:
  void delayFirst();
  scf::WhileOp carryPending(scf::WhileOp loop);
  void delayInLoop(scf::WhileOp loop, Step &step);
  void drain(scf::WhileOp loop, Step &step);
  void takeTurns();
  Value i32(int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); }
  Value before(Value turn) { return arith::SubIOp::create(b, turn, i32(1)); }

  Fold fold;
  ImplicitLocOpBuilder b;
  /// Of the step whose output is still to come: its weights and rescale factor.
  Value rounded, factor;
};

} // namespace

/// The first step keeps its scores and softmax; nothing is to be rescaled for it.
void Overlap::delayFirst() {
  Step &step = fold.first;
  rounded = step.rounded.getResult();
  b.setInsertionPointAfter(step.rounded);
  auto ones = DenseElementsAttr::get(VectorType::get({2}, b.getF32Type()), 1.0f);
  factor = arith::ConstantOp::create(b, ones);
  step.outputDone.getResult().replaceAllUsesWith(step.output.getAcc());
  for (Operation *op : {step.valuesFree.getOperation(), step.outputDone.getOperation(),
                        step.output.getOperation(), step.valuesFull.getOperation()})
    op->erase();
}

/// Adds the pending weights and factor to what a loop carries.
scf::WhileOp Overlap::carryPending(scf::WhileOp loop) {
  b.setInsertionPoint(loop);
  SmallVector<Value> inits(loop.getInits());
  inits.append({rounded, factor});
  SmallVector<Type> types(loop.getResultTypes());
  types.append({rounded.getType(), factor.getType()});
  auto wide = scf::WhileOp::create(b, types, inits);
  wide.getBefore().takeBody(loop.getBefore());
  wide.getAfter().takeBody(loop.getAfter());
  for (Region *region : {&wide.getBefore(), &wide.getAfter()})
    region->addArguments({rounded.getType(), factor.getType()}, {b.getLoc(), b.getLoc()});
  wide.getConditionOp().getArgsMutable().append(wide.getBeforeArguments().take_back(2));
  for (auto [from, to] : llvm::zip(loop.getResults(), wide.getResults()))
    from.replaceAllUsesWith(to);
  loop.erase();
  return wide;
}

void Overlap::delayInLoop(scf::WhileOp loop, Step &step) {
  ValueRange pending = loop.getAfterArguments().take_back(2);
  Value newFactor = step.rescale.getFactors();
  b.setInsertionPointToStart(loop.getAfterBody());
  Value turn = before(step.valuesFull.getTurn());

  // Behind the scores' start: the output of the step before.
  step.valuesFull->moveAfter(step.scores);
  step.rescale->moveAfter(step.valuesFull);
  step.output->moveAfter(step.rescale);
  step.valuesFull.getTurnMutable().assign(turn);
  step.rescale.getFactorsMutable().assign(pending[1]);
  step.output.getLhsMutable().assign(pending[0]);
  step.output.getTurnMutable().assign(turn);

  // The scores are the older of two products in flight; the weights are rounded once none is.
  step.scoresDone.setPending(1);
  step.keysFree->moveAfter(step.weights);
  step.keysFree.getAfterMutable().assign(step.weights.getResult());
  step.outputDone->moveBefore(loop.getAfterBody()->getTerminator());
  step.valuesFree->moveAfter(step.outputDone);
  step.valuesFree.getTurnMutable().assign(turn);
  step.rounded->moveAfter(step.valuesFree);
  loop.getYieldOp().getResultsMutable().append({step.rounded.getResult(), newFactor});
}

/// The output of the last step, behind the loops.
void Overlap::drain(scf::WhileOp loop, Step &step) {
  auto resultOf = [&](Value argument) {
    return loop.getResult(cast<BlockArgument>(argument).getArgNumber());
  };
  Value output = resultOf(step.rescale.getFragment());
  Value ring = step.output.getRhs();
  b.setInsertionPointAfter(loop);
  Value turn = before(resultOf(turnOfScores(step)));
  Value scaled = ScaleRowsOp::create(b, output.getType(), output, loop.getResults().back());
  WaitOp::create(b, ring, turn);
  Value flight = ContractOp::create(b, output.getType(), loop.getResults().drop_back().back(), ring,
                                    turn, UnitAttr(), scaled);
  Value done = WaitContractsOp::create(b, output.getType(), flight, 0);
  ReleaseOp::create(b, ring, turn, Value());
  output.replaceUsesWithIf(
      done, [&](OpOperand &use) { return use.getOwner() != scaled.getDefiningOp(); });
}

/// Two warpgroups alternate: each waits for its barrier before its scores, and calls the other once
/// its products are under way.
void Overlap::takeTurns() {
  Region *role = fold.loops.front().first->getParentRegion();
  while (!isa<RolesOp>(role->getParentOp()))
    role = role->getParentRegion();
  auto roles = cast<RolesOp>(role->getParentOp());
  if (roles.getWarpgroups()[role->getRegionNumber()] != 2)
    return;
  int64_t threads = 2 * kWarpgroup;
  b.setInsertionPointToStart(&role->front());
  Value warpgroup = role->getArgument(0), one = i32(1);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup, i32(0));
  Value mine = arith::AddIOp::create(b, warpgroup, one);
  Value other = arith::SelectOp::create(b, isFirst, i32(2), one);
  auto start = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(start.thenBlock());
  BarrierArriveOp::create(b, one, threads);
  for (auto &[loop, step] : fold.loops) {
    b.setInsertionPoint(step.scores);
    BarrierSyncOp::create(b, mine, threads);
    b.setInsertionPointAfter(step.output);
    BarrierArriveOp::create(b, other, threads);
  }
}

void Overlap::run() {
  delayFirst();
  for (auto &[loop, step] : fold.loops) {
    loop = carryPending(loop);
    delayInLoop(loop, step);
    rounded = loop.getResults().drop_back().back();
    factor = loop.getResults().back();
  }
  drain(fold.loops.back().first, fold.loops.back().second);
  takeTurns();
}

namespace {

struct HopperOverlapProducts
    : pagefold::hopper::impl::HopperOverlapProductsBase<HopperOverlapProducts> {
  void runOnOperation() override {
    SmallVector<Fold> folds;
    getOperation()->walk([&](Block *block) {
      std::optional<Fold> fold = findFold(*block);
      if (fold && !fold->loops.empty())
        folds.push_back(*fold);
    });
    for (Fold &fold : folds)
      Overlap(std::move(fold)).run();
  }
};

} // namespace
