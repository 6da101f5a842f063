//===- EpilogueFusion.cpp - elementwise ops on an attention's result ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of the elementwise op is appended to the epilogue region. Its float values become f32,
// so conversions between float types fall away; the tensors it reads become look-ups, its scalars
// captures.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pagefold/Dialect/Attn/IR/RegionOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pagefold::attn;

//===----------------------------------------------------------------------===//
// Deciding
//===----------------------------------------------------------------------===//

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// What attn.lookup or a capture can bring into the region.
static Refusal checkReadable(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (isRegionScalar(type) && !type.isInteger(1))
    return std::nullopt;
  return "it reads values of type " + toText(type) + "; an epilogue reads f32, f16, bf16 and i32";
}

/// The operands whose values the body reads, but for the attention's result.
static SmallVector<OpOperand *> getOtherReads(linalg::GenericOp op, Value attended) {
  SmallVector<OpOperand *> reads;
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingBlockArgument(&operand).use_empty() && operand.get() != attended)
      reads.push_back(&operand);
  return reads;
}

/// Scalars from outside that the body reads directly.
static SetVector<Value> getOuterScalars(linalg::GenericOp op) {
  SetVector<Value> outer;
  getUsedValuesDefinedAbove(op->getRegions(), outer);
  return outer;
}

/// The shape and the element type of the result.
static Refusal checkResult(linalg::GenericOp op, AttentionOp attention) {
  auto from = cast<RankedTensorType>(attention.getResult().getType());
  auto to = cast<RankedTensorType>(op.getResult(0).getType());
  if (from.getShape() != to.getShape())
    return "its result has another shape than the attention's: " + toText(to) + " against " +
           toText(from);
  if (!isa<Float32Type, Float16Type, BFloat16Type>(to.getElementType()))
    return "its result has elements of type " + toText(to.getElementType()) +
           "; an attention's are f32, f16 or bf16";
  return std::nullopt;
}

static Refusal checkReads(linalg::GenericOp op, AttentionOp attention) {
  for (OpOperand *operand : getOtherReads(op, attention.getResult()))
    if (Refusal refusal = checkReadable(operand->get()))
      return refusal;
  for (Value value : getOuterScalars(op))
    if (Refusal refusal = checkReadable(value))
      return refusal;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == attention.getResult() && !op.getMatchingIndexingMap(&operand).isIdentity())
      return "it reads the attention's result elsewhere than at [token, head, d]";
  return std::nullopt;
}

/// Whether `attention` may move down to `op`: nothing between may need its lse or append to its
/// caches.
static Refusal checkMovable(AttentionOp attention, Operation *op) {
  if (attention.getLse())
    for (Operation *user : attention.getLse().getUsers()) {
      Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
      if (inBlock && inBlock->isBeforeInBlock(op))
        return "it reads values computed behind the attention, whose lse is used before them";
    }
  for (Value operand : attention->getOperands()) {
    if (!isa<PagedKVType>(operand.getType()))
      continue;
    for (Operation *user : operand.getUsers()) {
      Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
      if (isa<AppendOp>(user) && inBlock && inBlock->isBeforeInBlock(op))
        return "it reads values computed behind an append to the attention's cache";
    }
  }
  return std::nullopt;
}

/// Everything the region would capture is there before the attention.
static bool readsDominate(linalg::GenericOp op, AttentionOp attention, DominanceInfo &dominance) {
  auto isThere = [&](Value value) { return dominance.properlyDominates(value, attention); };
  return llvm::all_of(getOtherReads(op, attention.getResult()),
                      [&](OpOperand *operand) { return isThere(operand->get()); }) &&
         llvm::all_of(getOuterScalars(op), isThere);
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

namespace {

/// Appends one elementwise op to an epilogue.
class EpilogueBuilder {
public:
  EpilogueBuilder(RewriterBase &rewriter, AttentionOp attention)
      : rewriter(rewriter), attention(attention), region(attention.getCapturingRegions().back()) {
    if (region.region->empty())
      createIdentity();
    yield = cast<YieldOp>(region.region->front().getTerminator());
    rewriter.setInsertionPoint(yield);
  }

  void append(linalg::GenericOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument inner = op.getMatchingBlockArgument(&operand);
      if (operand.get() == attention.getResult())
        mapping.map(inner, yield.getValue());
      else if (!inner.use_empty())
        mapping.map(inner, read(op.getLoc(), operand.get(), op.getMatchingIndexingMap(&operand)));
    }
    for (Value outer : getOuterScalars(op))
      mapping.map(outer, read(op.getLoc(), outer, {}));
    for (Operation &inner : op.getBody()->without_terminator())
      cloneInF32(inner);
    Value result = mapping.lookup(op.getBody()->getTerminator()->getOperand(0));
    rewriter.modifyOpInPlace(yield, [&] { yield.getValueMutable().assign(result); });
  }

private:
  void createIdentity() {
    Type f32 = rewriter.getF32Type(), i32 = rewriter.getI32Type();
    SmallVector<Location> locs(4, attention.getLoc());
    Block *block = rewriter.createBlock(region.region, {}, {f32, i32, i32, i32}, locs);
    YieldOp::create(rewriter, attention.getLoc(), block->getArgument(0));
  }

  /// A captured scalar, or the element of a captured tensor that `map` names, as f32 or i32.
  Value read(Location loc, Value outer, AffineMap map) {
    if (!isa<RankedTensorType>(outer.getType()))
      return region.capture(asF32(outer));
    BlockArgument table = region.capture(outer);
    SmallVector<Value> indices =
        llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return index(loc, expr); });
    Type element = getElementTypeOrSelf(outer.getType());
    Type result = isa<FloatType>(element) ? rewriter.getF32Type() : element;
    return LookupOp::create(rewriter, loc, result, table, indices);
  }

  /// A loop [token, head, d] or a constant, inside the region.
  Value index(Location loc, AffineExpr expr) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return arith::ConstantOp::create(rewriter, loc,
                                       rewriter.getI32IntegerAttr(constant.getValue()));
    enum { Row = 1, Head = 2, Element = 3 };
    Region &body = *region.region;
    switch (cast<AffineDimExpr>(expr).getPosition()) {
    case 0:
      return TokenOp::create(rewriter, loc, rewriter.getI32Type(), body.getArgument(Row));
    case 1:
      return body.getArgument(Head);
    default:
      return body.getArgument(Element);
    }
  }

  /// A narrower scalar is widened outside, where it costs nothing.
  Value asF32(Value scalar) {
    if (!isa<Float16Type, BFloat16Type>(scalar.getType()))
      return scalar;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(attention);
    return arith::ExtFOp::create(rewriter, attention.getLoc(), rewriter.getF32Type(), scalar);
  }

  /// Clones an op of the body with f32 for every float type.
  void cloneInF32(Operation &op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      mapping.map(op.getResult(0), mapping.lookup(op.getOperand(0)));
      return;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && isa<FloatAttr>(constant.getValue())) {
      double value = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
      mapping.map(constant.getResult(), arith::ConstantOp::create(rewriter, op.getLoc(),
                                                                  rewriter.getF32FloatAttr(value)));
      return;
    }
    Operation *inner = rewriter.clone(op, mapping);
    for (OpResult result : inner->getResults())
      if (isa<FloatType>(result.getType()))
        result.setType(rewriter.getF32Type());
  }

  RewriterBase &rewriter;
  AttentionOp attention;
  CapturingRegion region;
  YieldOp yield;
  IRMapping mapping;
};

} // namespace

static void applyEpilogue(RewriterBase &rewriter, linalg::GenericOp op, AttentionOp attention,
                          bool move) {
  if (move)
    rewriter.moveOpBefore(attention, op);
  EpilogueBuilder(rewriter, attention).append(op);
  Value result = attention.getResult();
  Type type = op.getResult(0).getType();
  // Nothing but `op` uses the result, so its type is free to change.
  rewriter.modifyOpInPlace(attention, [&] { result.setType(cast<RankedTensorType>(type)); });
  rewriter.replaceAllUsesWith(op.getResult(0), result);
  rewriter.eraseOp(op);
}

Decision pagefold::attn::decideEpilogue(linalg::GenericOp op, AttentionOp attention,
                                        DominanceInfo &dominance) {
  if (op->getBlock() != attention->getBlock())
    return Decision::refuse("it stands in another block than the attention");
  if (!llvm::all_of(attention.getResult().getUsers(), [&](Operation *user) { return user == op; }))
    return Decision::refuse("the attention's result has another use");
  for (Refusal refusal :
       {checkElementwise(op), checkReads(op, attention), checkResult(op, attention)})
    if (refusal)
      return {{}, {}, refusal};
  bool move = !readsDominate(op, attention, dominance);
  if (Refusal refusal = checkMovable(attention, op); move && refusal)
    return {{}, {}, refusal};
  return {"the epilogue of attn.attention",
          [=](RewriterBase &rewriter) { applyEpilogue(rewriter, op, attention, move); },
          std::nullopt};
}
