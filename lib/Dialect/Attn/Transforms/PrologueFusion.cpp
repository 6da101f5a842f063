//===- PrologueFusion.cpp - ops on queries, new keys and new values -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op moves to the front of the prologue as it is. The tensor it maps takes the place of the one
// it made; whatever else it reads is captured.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pagefold/Dialect/Attn/IR/RegionOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pagefold::attn;

Value pagefold::attn::getNewestCache(Value cache, Operation *at, DominanceInfo &dominance) {
  for (bool found = true; found;) {
    found = false;
    for (Operation *user : cache.getUsers()) {
      auto append = dyn_cast<AppendOp>(user);
      if (!append || append.getCache() != cache || !dominance.properlyDominates(user, at))
        continue;
      cache = append.getResult();
      found = true;
      break;
    }
  }
  return cache;
}

//===----------------------------------------------------------------------===//
// The prologue that an operand has
//===----------------------------------------------------------------------===//

static std::optional<CapturingRegion> getPrologue(OpOperand &operand) {
  if (auto attention = dyn_cast<AttentionOp>(operand.getOwner())) {
    if (&operand == &attention.getQueryMutable())
      return attention.getCapturingRegions().front();
  } else if (auto append = dyn_cast<AppendOp>(operand.getOwner())) {
    if (&operand == &append.getKeyMutable())
      return append.getCapturingRegions().front();
    if (&operand == &append.getValueMutable())
      return append.getCapturingRegions().back();
  }
  return std::nullopt;
}

bool pagefold::attn::hasPrologue(OpOperand &operand) { return getPrologue(operand).has_value(); }

//===----------------------------------------------------------------------===//
// Deciding
//===----------------------------------------------------------------------===//

/// Whether a prologue's tensor may have this type: [tokens, heads, head_dim] of f32, f16 or bf16.
static bool isTokens(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 3 &&
         isa<Float32Type, Float16Type, BFloat16Type>(tensor.getElementType());
}

/// The operand whose rows the op maps: of an elementwise op the first input read at [token, head,
/// d].
static OpOperand *getRowOperand(Operation *op) {
  if (auto rowWise = dyn_cast<RowWiseOpInterface>(op))
    return &rowWise.getRowOperand();
  auto generic = cast<linalg::GenericOp>(op);
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  for (OpOperand *input : generic.getDpsInputOperands())
    if (isTokens(input->get().getType()) && generic.getMatchingIndexingMap(input).isIdentity() &&
        cast<RankedTensorType>(input->get().getType()).getShape() == shape)
      return input;
  return nullptr;
}

/// The body of a linalg.generic sees scalars around it; in a prologue they must be captured.
static SetVector<Value> getOuterScalars(Operation *op) {
  SetVector<Value> outer;
  getUsedValuesDefinedAbove(op->getRegions(), outer);
  return outer;
}

static Refusal checkCaptures(Operation *op) {
  SetVector<Value> read = getOuterScalars(op);
  read.insert(op->operand_begin(), op->operand_end());
  for (Value value : read)
    if (!value.getType().isF32() && !value.getType().isInteger(32) &&
        !isa<RankedTensorType, PagedKVType>(value.getType()))
      return std::string("it reads a scalar that is neither f32 nor i32");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

namespace {

/// Puts one op at the front of a prologue.
class PrologueBuilder {
public:
  PrologueBuilder(RewriterBase &rewriter, OpOperand &use, DominanceInfo &dominance)
      : rewriter(rewriter), owner(use.getOwner()), operandNumber(use.getOperandNumber()),
        dominance(dominance), region(*getPrologue(use)) {
    if (region.region->empty())
      createIdentity();
    rewriter.setInsertionPointToStart(&region.region->front());
  }

  void prepend(Operation *op, OpOperand *rowOperand) {
    Value rows = rowOperand->get();
    BlockArgument oldRows = region.region->getArgument(0);
    newRows = region.region->insertArgument(0u, rows.getType(), rows.getLoc());
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(bind(op, operand, rows));
    SetVector<Value> outer = getOuterScalars(op);
    Operation *inner = rewriter.clone(*op);
    inner->setOperands(operands);
    for (Value value : outer)
      replaceAllUsesInRegionWith(value, region.capture(value), inner->getRegion(0));
    rewriter.replaceAllUsesWith(oldRows, inner->getResult(0));
    region.region->eraseArgument(1);
    rewriter.modifyOpInPlace(owner, [&] { owner->setOperand(operandNumber, rows); });
  }

private:
  void createIdentity() {
    Block *block = rewriter.createBlock(
        region.region, {}, {owner->getOperand(operandNumber).getType()}, {owner->getLoc()});
    YieldOp::create(rewriter, owner->getLoc(), block->getArgument(0));
  }

  /// The value inside the region that stands for an operand of `op`.
  Value bind(Operation *op, OpOperand &operand, Value rows) {
    if (isa<PagedKVType>(operand.get().getType()))
      return region.capture(getNewestCache(operand.get(), owner, dominance));
    auto generic = dyn_cast<linalg::GenericOp>(op);
    bool readsOwnRows = !generic || generic.getMatchingIndexingMap(&operand).isIdentity();
    if (operand.get() == rows && readsOwnRows)
      return newRows;
    if (generic && generic.isDpsInit(&operand) &&
        generic.getMatchingBlockArgument(&operand).use_empty())
      return createDestination(op);
    return region.capture(operand.get());
  }

  /// A tensor of the result's type that says where, not what.
  Value createDestination(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type == newRows.getType())
      return newRows;
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, op->getLoc(), newRows);
    return tensor::EmptyOp::create(rewriter, op->getLoc(), sizes, type.getElementType());
  }

  RewriterBase &rewriter;
  // By number: a new capture moves the operands in memory.
  Operation *owner;
  unsigned operandNumber;
  DominanceInfo &dominance;
  CapturingRegion region;
  BlockArgument newRows;
};

} // namespace

Decision pagefold::attn::decidePrologue(Operation *op, OpOperand &use, DominanceInfo &dominance) {
  if (op->getBlock() != use.getOwner()->getBlock())
    return Decision::refuse("it stands in another block than its use");
  if (!op->getResult(0).hasOneUse())
    return Decision::refuse("its result has another use");
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    if (Refusal refusal = checkElementwise(generic))
      return {{}, {}, refusal};
  OpOperand *rows = getRowOperand(op);
  if (!rows)
    return Decision::refuse("it reads no tensor of its result's shape at [token, head, d]");
  if (Refusal refusal = checkCaptures(op))
    return {{}, {}, refusal};
  std::string place = ("the " + getPrologue(use)->clause + " prologue of " +
                       use.getOwner()->getName().getStringRef())
                          .str();
  auto apply = [op, rows, &use, &dominance](RewriterBase &rewriter) {
    PrologueBuilder(rewriter, use, dominance).prepend(op, rows);
    rewriter.eraseOp(op);
  };
  return {std::move(place), apply, std::nullopt};
}
