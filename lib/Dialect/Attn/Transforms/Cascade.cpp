//===- Cascade.cpp - the pass attn-cascade --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/Transforms/Passes.h"

#include "CascadeCost.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Attn/IR/PrefixOps.h"

namespace pagefold::attn {
#define GEN_PASS_DEF_ATTNCASCADE
#include "pagefold/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace pagefold::attn

using namespace mlir;
using namespace pagefold;
using namespace pagefold::attn;

//===----------------------------------------------------------------------===//
// What stands against it
//===----------------------------------------------------------------------===//

/// Each part has its own numbers for rows, keys and requests; the score itself, the head and the
/// token of the batch are the same in both.
static std::string scoreRefusal(AttentionOp op) {
  if (op.getScore().empty())
    return {};
  constexpr const char *kNames[] = {"the score", "the row", "the key", "the head", "the request"};
  for (unsigned i : {1u, 2u, 4u})
    for (Operation *user : op.getScore().getArgument(i).getUsers())
      if (!isa<TokenOp>(user))
        return std::string("its score region reads ") +
               (isa<PositionOp>(user) ? "the row's position" : kNames[i]) +
               ", which the parts count from elsewhere";
  return {};
}

static std::string prologueRefusal(AttentionOp op) {
  for (RopeOp rope : op.getQueryPrologue().getOps<RopeOp>())
    if (rope.getRows())
      return "its query prologue turns by the positions of the whole cache";
  return {};
}

/// Why the graph does not let it be cut; empty if it does.
static std::string refusal(AttentionOp op) {
  MLIRContext *context = op.getContext();
  MaskAttr mask = op.getMask();
  if (mask != MaskAttr::getNone(context) && mask != MaskAttr::get(context, causalMask(context)))
    return "its mask is neither none nor causal: rows may not see all keys of the prefix";
  if (op.getBitmap())
    return "its mask is a bitmap over all keys of a request";
  if (!op.getEpilogue().empty())
    return "its epilogue belongs on the merged result";
  if (std::string why = scoreRefusal(op); !why.empty())
    return why;
  return prologueRefusal(op);
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The attention over one part. Its sinks, where it has them, are as one key more.
static AttentionOp attendPart(OpBuilder &builder, AttentionOp op, Value cache, Value rows,
                              MaskAttr mask, Value sinks) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto lse = RankedTensorType::get(query.getShape().drop_back(), builder.getF32Type());
  auto part = AttentionOp::create(
      builder, op.getLoc(), op.getResult().getType(), lse, op.getQuery(), cache, /*key=*/Value(),
      /*value=*/Value(), rows, /*kvRows=*/Value(), /*symbols=*/ValueRange(),
      /*rowValues=*/ValueRange(), sinks, /*bitmap=*/Value(), /*bitmapStarts=*/Value(),
      op.getQueryCaptures(), op.getScoreCaptures(), /*epilogueCaptures=*/ValueRange(),
      op.getScaleAttr(), mask);
  IRMapping mapping;
  op.getQueryPrologue().cloneInto(&part.getQueryPrologue(), mapping);
  op.getScore().cloneInto(&part.getScore(), mapping);
  return part;
}

namespace {

struct AttnCascade : pagefold::attn::impl::AttnCascadeBase<AttnCascade> {
  using Base::Base;

  void runOnOperation() override {
    cuts.clear();
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (op.getCache() && getSharedPrefix(op.getCache()))
        attentions.push_back(op);
    });
    for (AttentionOp op : attentions)
      if (isWorthIt(op))
        cut(op);
  }

  /// Decides, and says why.
  bool isWorthIt(AttentionOp op) {
    auto missed = [&](const std::string &why) {
      remark::missed(op.getLoc(), options())
          << ("the prefix is read for each request: " + Twine(why)).str();
      return false;
    };
    auto bounds = getOperation()->getAttrOfType<BoundsAttr>(kBoundsName);
    if (!bounds)
      return missed("the function declares no attn.bounds to judge by");
    if (batchInvariant)
      return missed("results must not depend on the other requests, and the cut does");
    if (std::string why = refusal(op); !why.empty())
      return missed(why);
    if (!force && op.getCache().getType().isScaled())
      return missed("no schedule reads keys of 8 bits for as many rows as a whole batch has");
    int64_t likely = std::max<int64_t>(bounds.getKvLen() / 2, 1);
    int64_t keys = getSharedPrefix(op.getCache()).getExpected().value_or(likely);
    CascadeCost cost =
        cascadeCost(op, bounds, std::min<int64_t>(keys, bounds.getKvLen()), launchBytes);
    if (!force && !cost.pays())
      return missed(cost.text());
    remark::passed(op.getLoc(), options()) << ("the prefix is read once: " + cost.text());
    return true;
  }

  /// One cut for all attentions of a block over the same cache.
  CutPrefixOp cutOf(OpBuilder &builder, AttentionOp op) {
    for (CutPrefixOp known : cuts)
      if (known->getBlock() == op->getBlock() && known.getCache() == op.getCache() &&
          known.getRows() == op.getRows())
        return known;
    Type offsets = RankedTensorType::get({2}, builder.getI32Type());
    Value length = getSharedPrefix(op.getCache()).getLength();
    auto cache = op.getCache().getType();
    return cuts.emplace_back(CutPrefixOp::create(builder, op.getLoc(), cache, offsets, cache,
                                                 op.getCache(), length, op.getRows(),
                                                 op.getQuery()));
  }

  void cut(AttentionOp op) {
    OpBuilder builder(op);
    CutPrefixOp parts = cutOf(builder, op);
    AttentionOp shared = attendPart(builder, op, parts.getShared(), parts.getAll(),
                                    MaskAttr::getNone(op.getContext()), /*sinks=*/Value());
    AttentionOp rest =
        attendPart(builder, op, parts.getRest(), op.getRows(), op.getMask(), op.getSinks());
    auto merged = MergeOp::create(builder, op.getLoc(), shared.getResult(), shared.getLse(),
                                  rest.getResult(), rest.getLse());
    op.getResult().replaceAllUsesWith(merged.getResult());
    if (op.getLse())
      op.getLse().replaceAllUsesWith(merged.getLse());
    op.erase();
    ++numCut;
  }

  remark::RemarkOpts options() {
    return remark::RemarkOpts::name("Cascade")
        .category("attn-cascade")
        .function(getOperation().getName());
  }

  SmallVector<CutPrefixOp> cuts;
};

} // namespace
