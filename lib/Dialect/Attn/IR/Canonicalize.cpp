//===- Canonicalize.cpp - canonical forms of attn.attention and append ----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What says nothing is dropped: regions that yield what they are given, captures and mask symbols
// that nothing reads, an lse that nothing uses. Captured constants move into the region.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::attn;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// A region that yields its first argument says nothing.
template <typename OpTy> struct DropIdentityRegions : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  static bool isIdentity(Region &region) {
    if (region.empty())
      return false;
    auto yield = cast<YieldOp>(region.front().getTerminator());
    return yield.getValue() == region.getArgument(0);
  }

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (CapturingRegion region : op.getCapturingRegions()) {
      if (!isIdentity(*region.region))
        continue;
      // The driver must see the ops that go.
      rewriter.eraseBlock(&region.region->front());
      rewriter.modifyOpInPlace(op, [&] { region.values.clear(); });
      changed = true;
    }
    return success(changed);
  }
};

/// Captures that nothing reads go; of two of the same value one stays.
template <typename OpTy> struct DropNeedlessCaptures : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  /// Sends the uses of each repeated capture to its first occurrence.
  static void uniteRepeated(CapturingRegion &region, PatternRewriter &rewriter) {
    llvm::SmallDenseMap<Value, BlockArgument> first;
    for (auto [i, value] : llvm::enumerate(OperandRange(region.values))) {
      BlockArgument argument = region.getArgument(i);
      auto [known, isNew] = first.try_emplace(value, argument);
      if (!isNew && !argument.use_empty())
        rewriter.replaceAllUsesWith(argument, known->second);
    }
  }

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (CapturingRegion region : op.getCapturingRegions()) {
      uniteRepeated(region, rewriter);
      for (unsigned i = region.values.size(); i-- > 0;) {
        if (!region.getArgument(i).use_empty())
          continue;
        rewriter.modifyOpInPlace(op, [&] { region.release(i); });
        changed = true;
      }
    }
    return success(changed);
  }
};

/// A captured scalar constant is a constant in the region.
template <typename OpTy> struct SinkConstantCaptures : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (CapturingRegion region : op.getCapturingRegions()) {
      for (unsigned i = 0; i < region.values.size(); ++i) {
        Value value = OperandRange(region.values)[i];
        auto constant = value.getDefiningOp<arith::ConstantOp>();
        if (!constant || !value.getType().isIntOrFloat() || region.getArgument(i).use_empty())
          continue;
        rewriter.setInsertionPointToStart(&region.region->front());
        Operation *inner = rewriter.clone(*constant);
        rewriter.replaceAllUsesWith(region.getArgument(i), inner->getResult(0));
        changed = true;
      }
    }
    return success(changed);
  }
};

//===----------------------------------------------------------------------===//
// Mask and results of attn.attention
//===----------------------------------------------------------------------===//

/// The positions out of `count` for which `isUsed` holds.
SmallVector<unsigned> keepUsed(unsigned count, function_ref<bool(unsigned)> isUsed) {
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < count; ++i)
    if (isUsed(i))
      kept.push_back(i);
  return kept;
}

template <typename T> void keepOnly(SmallVectorImpl<T> &values, ArrayRef<unsigned> kept) {
  for (auto [to, from] : llvm::enumerate(kept))
    values[to] = values[from];
  values.truncate(kept.size());
}

/// Drops the operands of a range that are not kept.
void keepOnly(MutableOperandRange operands, ArrayRef<unsigned> kept) {
  for (unsigned i = operands.size(); i-- > 0;)
    if (!llvm::is_contained(kept, i))
      operands.erase(i);
}

/// The sets without the symbols and row variables that are not kept.
void renumber(MaskSets &mask, ArrayRef<unsigned> symbols, ArrayRef<unsigned> rowVars,
              MLIRContext *context) {
  SmallVector<AffineExpr> dims(mask.numDims(), getAffineConstantExpr(0, context));
  SmallVector<AffineExpr> symbolExprs(mask.numSymbols(), getAffineConstantExpr(0, context));
  dims.front() = getAffineDimExpr(0, context);
  dims.back() = getAffineDimExpr(MaskSpace::firstRowVar + rowVars.size(), context);
  for (auto [to, from] : llvm::enumerate(rowVars))
    dims[MaskSpace::firstRowVar + from] = getAffineDimExpr(MaskSpace::firstRowVar + to, context);
  for (unsigned i = 0; i < MaskSpace::firstSymbol; ++i)
    symbolExprs[i] = getAffineSymbolExpr(i, context);
  for (auto [to, from] : llvm::enumerate(symbols))
    symbolExprs[MaskSpace::firstSymbol + from] =
        getAffineSymbolExpr(MaskSpace::firstSymbol + to, context);
  keepOnly(mask.symbols, symbols);
  keepOnly(mask.lowerBounds, symbols);
  keepOnly(mask.rowVars, rowVars);
  for (IntegerSet &set : mask.sets)
    set = set.replaceDimsAndSymbols(dims, symbolExprs, mask.numDims(), mask.numSymbols());
  canonicalizeMaskSets(mask);
}

/// Symbols and row values that no set reads need not be bound.
struct DropUnusedMaskNames : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    MaskSets mask = op.getMask().getMaskSets();
    auto inSomeSet = [&](auto readsIt) {
      return llvm::any_of(
          mask.sets, [&](IntegerSet set) { return llvm::any_of(set.getConstraints(), readsIt); });
    };
    SmallVector<unsigned> symbols = keepUsed(mask.symbols.size(), [&](unsigned i) {
      return inSomeSet(
          [&](AffineExpr e) { return e.isFunctionOfSymbol(MaskSpace::firstSymbol + i); });
    });
    SmallVector<unsigned> rowVars = keepUsed(mask.rowVars.size(), [&](unsigned i) {
      return inSomeSet([&](AffineExpr e) { return e.isFunctionOfDim(MaskSpace::firstRowVar + i); });
    });
    if (symbols.size() == mask.symbols.size() && rowVars.size() == mask.rowVars.size())
      return failure();
    renumber(mask, symbols, rowVars, getContext());
    rewriter.modifyOpInPlace(op, [&] {
      keepOnly(op.getSymbolsMutable(), symbols);
      keepOnly(op.getRowValuesMutable(), rowVars);
      op.setMaskAttr(MaskAttr::get(getContext(), mask));
    });
    return success();
  }
};

/// lse is computed where it is used.
struct DropUnusedLse : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (!op.getLse() || !op.getLse().use_empty())
      return failure();
    OperationState state(op.getLoc(), op->getName(), op->getOperands(), op.getResult().getType(),
                         op->getAttrs());
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    rewriter.replaceAllUsesWith(op.getResult(), rewriter.create(state)->getResult(0));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropIdentityRegions<AttentionOp>, DropNeedlessCaptures<AttentionOp>,
               SinkConstantCaptures<AttentionOp>, DropUnusedMaskNames, DropUnusedLse>(context);
}

void AppendOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropIdentityRegions<AppendOp>, DropNeedlessCaptures<AppendOp>,
               SinkConstantCaptures<AppendOp>>(context);
}
