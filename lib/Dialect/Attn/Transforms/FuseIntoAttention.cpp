//===- FuseIntoAttention.cpp - the pass attn-fuse -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/Transforms/Passes.h"

#include "Fusion.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pagefold/Dialect/Attn/IR/RegionOps.h"

namespace pagefold::attn {
#define GEN_PASS_DEF_ATTNFUSE
#include "pagefold/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace pagefold::attn

using namespace mlir;
using namespace pagefold::attn;

//===----------------------------------------------------------------------===//
// One form for elementwise ops
//===----------------------------------------------------------------------===//

/// Named linalg ops as linalg.generic. A fill reads nothing: it makes a tensor.
static void generalizeNamed(func::FuncOp function, IRRewriter &rewriter) {
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op) && linalg::isElementwise(op))
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    // An op that cannot be generalised is left to its own kernel.
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

/// Afterwards each elementwise op is a linalg.generic, and no tensor.dim holds on to a result.
static LogicalResult normalise(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
    return failure();
  IRRewriter rewriter(function.getContext());
  generalizeNamed(function, rewriter);
  return success();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

Refusal pagefold::attn::checkElementwise(linalg::GenericOp op) {
  if (op.getNumLoops() != 3 || op.getNumParallelLoops() != 3)
    return std::string("its loops are not three parallel ones over [token, head, d]");
  if (op.getNumResults() != 1 || op.getNumDpsInits() != 1)
    return "it has " + std::to_string(op.getNumResults()) + " results";
  if (!op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::string("its result is not written at [token, head, d]");
  if (!llvm::all_of(op.getIndexingMapsArray(), isLookupMap))
    return std::string("it reads a tensor at places other than loops and constants");
  for (Operation &inner : op.getBody()->without_terminator())
    if (!isScalarRegionOp(&inner))
      return ("its body holds " + inner.getName().getStringRef() +
              ", which is not of the white list on these types")
          .str();
  return std::nullopt;
}

/// The attention whose result `op` reads, if any.
static AttentionOp getAttentionBefore(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto attention = operand.getDefiningOp<AttentionOp>();
        attention && operand == attention.getResult())
      return attention;
  return {};
}

/// What happens to `op`: the epilogue of the attention before it, else the prologue of the op
/// behind it.
static Decision decide(Operation *op, DominanceInfo &dominance) {
  std::optional<Decision> epilogue;
  AttentionOp attention = getAttentionBefore(op);
  if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && attention)
    epilogue = decideEpilogue(generic, attention, dominance);
  if (epilogue && !epilogue->refusal)
    return *epilogue;
  for (OpOperand &use : op->getUses())
    if (hasPrologue(use))
      return decidePrologue(op, use, dominance);
  return epilogue.value_or(Decision::refuse("it stands beside no attention and no append"));
}

/// The ops that might move, in order. Those inside prologues have moved already.
static SmallVector<Operation *> getCandidates(func::FuncOp function) {
  SmallVector<Operation *> candidates;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<AttentionOp, AppendOp>(op))
      return WalkResult::skip();
    auto generic = dyn_cast<linalg::GenericOp>(op);
    bool isElementwise = generic && generic.hasPureTensorSemantics() &&
                         generic.getNumLoops() == generic.getNumParallelLoops();
    if (isElementwise || isa<RowWiseOpInterface>(op))
      candidates.push_back(op);
    return WalkResult::advance();
  });
  return candidates;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct AttnFuse : pagefold::attn::impl::AttnFuseBase<AttnFuse> {
  void runOnOperation() override {
    if (failed(normalise(getOperation())))
      return signalPassFailure();
    // A move can open the way for its neighbour.
    while (fuseOnce()) {
    }
    reportLeft();
  }

  bool fuseOnce() {
    DominanceInfo dominance(getOperation());
    IRRewriter rewriter(&getContext());
    for (Operation *op : getCandidates(getOperation())) {
      Decision decision = decide(op, dominance);
      if (decision.refusal)
        continue;
      remark::passed(op->getLoc(), options("Fused"))
          << remark::add("{0} moves into {1}", op->getName().getStringRef(), decision.place);
      decision.apply(rewriter);
      ++numFused;
      return true;
    }
    return false;
  }

  void reportLeft() {
    DominanceInfo dominance(getOperation());
    for (Operation *op : getCandidates(getOperation())) {
      Decision decision = decide(op, dominance);
      remark::missed(op->getLoc(), options("NotFused"))
          << remark::add("{0} stays and becomes a kernel of its own", op->getName().getStringRef())
          << remark::reason("{0}", *decision.refusal);
      ++numLeft;
    }
  }

  remark::RemarkOpts options(StringRef name) {
    return remark::RemarkOpts::name(name).category("attn-fuse").function(getOperation().getName());
  }
};

} // namespace
