//===- OnlineSoftmax.cpp - from materialised attention to a fold ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkOf.h"
#include "mlir/IR/IRMapping.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"
#include "pagefold/Dialect/Tile/Transforms/Passes.h"

namespace pagefold::tile {
#define GEN_PASS_DEF_TILEONLINESOFTMAX
#include "pagefold/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace pagefold::tile

using namespace mlir;
using namespace pagefold::tile;

namespace {

/// The ops of one attention in standard form.
struct StandardForm {
  LoadKOp loadK;
  ContractOp scores;
  MapOp map;
  SoftmaxOp softmax;
  LoadVOp loadV;
  AccumulateOp product;
};

/// The standard form around a softmax, or nothing where one of its ops is another.
std::optional<StandardForm> match(SoftmaxOp softmax) {
  StandardForm form;
  form.softmax = softmax;
  form.map = softmax.getScores().getDefiningOp<MapOp>();
  form.scores = form.map ? form.map.getInput().getDefiningOp<ContractOp>() : ContractOp();
  form.loadK = form.scores ? form.scores.getKey().getDefiningOp<LoadKOp>() : LoadKOp();
  if (!softmax.getWeights().hasOneUse() || !softmax.getState().hasOneUse())
    return std::nullopt;
  form.product = dyn_cast<AccumulateOp>(*softmax.getWeights().user_begin());
  form.loadV = form.product ? form.product.getValues().getDefiningOp<LoadVOp>() : LoadVOp();
  if (!form.loadK || !form.loadV)
    return std::nullopt;
  return form;
}

/// The tile type with every `all` replaced by `kv`.
TileType onTile(TileType type) {
  SmallVector<int64_t> shape(type.getShape());
  llvm::replace(shape, int64_t(TileType::All), int64_t(TileType::KV));
  return TileType::get(type.getContext(), shape, type.getElementType());
}

/// One step of the fold: load K, contract, map, softmax step, load V, accumulate.
void buildStep(OpBuilder &builder, StandardForm &form, Block &body) {
  Location loc = form.softmax.getLoc();
  Value tile = body.getArgument(0), partial = body.getArgument(1), state = body.getArgument(2);
  Value item = form.loadK.getItem();
  Value keys =
      LoadKOp::create(builder, loc, onTile(form.loadK.getType()), form.loadK.getKv(), item, tile);
  Value scores =
      ContractOp::create(builder, loc, onTile(form.scores.getType()), form.scores.getQuery(), keys);
  auto map = MapOp::create(builder, loc, scores.getType(), scores, item, tile, form.map.getMask(),
                           partial);
  map.getBody().takeBody(form.map.getBody());
  auto step = SoftmaxStepOp::create(builder, loc, state.getType(), scores.getType(), state,
                                    map.getResult());
  Value values =
      LoadVOp::create(builder, loc, onTile(form.loadV.getType()), form.loadV.getKv(), item, tile);
  Value next = AccumulateOp::create(builder, loc, state.getType(), step.getWeights(), values,
                                    step.getNewState());
  YieldOp::create(builder, loc, next);
}

void rewrite(StandardForm form) {
  OpBuilder builder(form.product);
  Location loc = form.softmax.getLoc();
  Type state = form.product.getNewState().getType();
  Value init = InitOp::create(builder, loc, state);
  auto fold = FoldOp::create(builder, loc, state, form.loadK.getItem(), Value(), init);
  Block &body = fold.getBody().emplaceBlock();
  body.addArguments({builder.getIndexType(), builder.getI1Type(), state}, {loc, loc, loc});
  builder.setInsertionPointToEnd(&body);
  buildStep(builder, form, body);
  form.product.getNewState().replaceAllUsesWith(fold.getResult());
  for (Operation *op : std::initializer_list<Operation *>{form.product, form.loadV, form.softmax,
                                                          form.map, form.scores, form.loadK})
    op->erase();
}

struct TileOnlineSoftmax : pagefold::tile::impl::TileOnlineSoftmaxBase<TileOnlineSoftmax> {
  void runOnOperation() override {
    SmallVector<SoftmaxOp> candidates;
    getOperation()->walk([&](SoftmaxOp op) { candidates.push_back(op); });
    for (SoftmaxOp softmax : candidates) {
      Location loc = softmax.getLoc();
      std::optional<StandardForm> form = match(softmax);
      auto options = remarkOf(softmax, "OnlineSoftmax", "tile-online-softmax");
      if (!form) {
        remark::missed(loc, options)
            << "softmax stays materialised: expects contract, map, softmax, contract over all keys";
        continue;
      }
      rewrite(*form);
      remark::passed(loc, options) << "softmax rewritten into a fold over KV tiles";
    }
  }
};

} // namespace
