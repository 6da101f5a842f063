//===- SpaceKernel.cpp - a space of items on the host ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the ops of a space's body in order and emits each by its product form. Tiles of the fold
// live in scratch; the scores of the standard form lie in the workspace, a slab for every item,
// because materialising them is what that form is.
//
//===----------------------------------------------------------------------===//

#include "Finish.h"
#include "KernelEmitters.h"
#include "MaskContext.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

using Predicate = arith::CmpIPredicate;

class SpaceEmitter {
public:
  SpaceEmitter(Kernel &kernel, tile::SpaceOp space)
      : kernel(kernel), b(kernel.builder()), space(space),
        form(ProductForm::create(kernel, space)) {}
  LogicalResult emit();

private:
  // Items.
  Value tilesOf(Request request);
  Item decodeItem(Request request, Value number, Value ticket);

  // Ops.
  LogicalResult emitOp(Operation &op);
  void emitFold(tile::FoldOp op);
  void emitFoldStep(tile::FoldOp op, Value tile, Value partial);
  void emitRanges(tile::FoldOp op, tile::MaskOp mask);
  void emitAllTiles(tile::FoldOp op);
  void emitMap(tile::MapOp op, const KVTile &tile, Value partial);
  void emitFinish(tile::FinishOp op);
  void emitStorePartial(tile::StorePartialOp op);

  // The standard form.
  void emitContractAll(tile::ContractOp op);
  void emitMapAll(tile::MapOp op);
  void emitSoftmaxAll();
  void emitAccumulateAll();
  void forAllTiles(llvm::function_ref<void(const KVTile &)> body);
  Value allScores();

  KVTile tileAt(Value tile, bool inBuffer);
  void countTile(Value partial, const KVTile &tile);

  Kernel &kernel;
  HostBuilder &b;
  tile::SpaceOp space;
  std::unique_ptr<ProductForm> form;
  Item item;
  Value scores; ///< the score buffer of the fold, or of the standard form
};

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

Value SpaceEmitter::tilesOf(Request request) {
  Value tiles = b.ceilDivide(b.mul(request.qLen, space.getGroup()), form->qTile);
  auto onlyIf = [&](Predicate predicate, std::optional<int64_t> limit) {
    if (limit)
      tiles = b.select(b.compare(predicate, request.qLen, b.index(*limit)), tiles, b.index(0));
  };
  onlyIf(Predicate::sge, space.getMinQLen());
  onlyIf(Predicate::sle, space.getMaxQLen());
  return tiles;
}

/// Items of a request: split fastest, then query tiles (the longest, which come last, first), then
/// heads.
Item SpaceEmitter::decodeItem(Request request, Value number, Value ticket) {
  Item result;
  int64_t splits = space.getSchedule()->getSplits();
  Value tiles = tilesOf(request), rest = b.divide(number, splits);
  result.request = request;
  result.ticket = ticket;
  result.split = b.remainder(number, splits);
  result.head = b.divide(rest, tiles);
  Value tile = b.sub(b.sub(tiles, b.index(1)), b.remainder(rest, tiles));
  Value packed = b.mul(request.qLen, space.getGroup());
  result.firstRow = b.mul(tile, form->qTile);
  result.rows = b.min(b.sub(packed, result.firstRow), b.index(form->qTile));
  result.qLow = b.divide(result.firstRow, space.getGroup());
  result.qHigh = b.divide(b.sub(b.add(result.firstRow, result.rows), b.index(1)), space.getGroup());
  return result;
}

LogicalResult SpaceEmitter::emit() {
  int64_t heads = space.getKv().getType().getHeads(), splits = space.getSchedule()->getSplits();
  auto items = [&](Request request) { return b.mul(tilesOf(request), heads * splits); };
  LogicalResult result = success();
  kernel.forItems(space.getBatch(), items, [&](Request request, Value number, Value ticket) {
    item = decodeItem(kernel.withPagesChecked(space.getBatch(), request), number, ticket);
    form->setRows(item);
    for (Operation &op : space.getBody().front())
      if (failed(emitOp(op)))
        result = failure();
  });
  return result;
}

LogicalResult SpaceEmitter::emitOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](tile::LoadQOp load) { return form->loadQuery(load), success(); })
      .Case([&](tile::InitOp) { return form->initState(), success(); })
      .Case([&](tile::FoldOp fold) { return emitFold(fold), success(); })
      .Case([&](tile::ContractOp contract) { return emitContractAll(contract), success(); })
      .Case([&](tile::MapOp map) { return emitMapAll(map), success(); })
      .Case([&](tile::SoftmaxOp) { return emitSoftmaxAll(), success(); })
      .Case([&](tile::AccumulateOp) { return emitAccumulateAll(), success(); })
      .Case([&](tile::FinishOp finish) { return emitFinish(finish), success(); })
      .Case([&](tile::StorePartialOp store) { return emitStorePartial(store), success(); })
      // Loads of keys and values are part of the product that reads them; visits of their fold.
      .Case<tile::LoadKOp, tile::LoadVOp, tile::VisitsOp>([](Operation *) { return success(); })
      .Default([](Operation *other) {
        return other->emitOpError("has no lowering to the host inside a space");
      });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

KVTile SpaceEmitter::tileAt(Value tile, bool inBuffer) {
  Value first = b.mul(tile, form->kvTile);
  Value left = b.max(b.sub(item.request.kvLen, first), b.index(0));
  return {first, b.min(left, b.index(form->kvTile)), inBuffer ? first : b.index(0)};
}

void SpaceEmitter::countTile(Value partial, const KVTile &tile) {
  kernel.count(Counter::TilesFull, [&] { return b.select(partial, b.index(0), b.index(1)); });
  kernel.count(Counter::TilesPartial, [&] { return b.select(partial, b.index(1), b.index(0)); });
  kernel.count(Counter::KeysVisited, [&] { return tile.keys; });
}

void SpaceEmitter::emitMap(tile::MapOp op, const KVTile &tile, Value partial) {
  auto maskOp = op.getMask().getDefiningOp<tile::MaskOp>();
  MaskEmitter mask(kernel, maskOp, item);
  bool identity = tile::isIdentity(op.getBody());
  auto masked = [&] {
    form->map(item, tile, scores, op.getBody(), &mask);
    kernel.count(Counter::MaskedElements, [&] { return b.mul(tile.keys, form->qTile); });
  };
  if (!partial)
    return masked();
  if (identity)
    return b.ifThen(partial, masked);
  b.ifThenElse(partial, masked, [&] { form->map(item, tile, scores, op.getBody(), nullptr); });
}

//===----------------------------------------------------------------------===//
// The fold
//===----------------------------------------------------------------------===//

void SpaceEmitter::emitFoldStep(tile::FoldOp op, Value tileNumber, Value partial) {
  KVTile tile = tileAt(tileNumber, /*inBuffer=*/false);
  countTile(partial, tile);
  for (Operation &inner : op.getBody().front())
    llvm::TypeSwitch<Operation *>(&inner)
        .Case([&](tile::ContractOp) { form->scores(item, tile, scores); })
        .Case([&](tile::MapOp map) { emitMap(map, tile, partial); })
        .Case([&](tile::SoftmaxStepOp) { form->softmaxStep(form->roundedKeys(tile.keys), scores); })
        .Case([&](tile::AccumulateOp) { form->accumulate(item, tile, scores, /*rescale=*/true); });
}

/// Without a visit list: every tile below the length, the mask applied in all.
void SpaceEmitter::emitAllTiles(tile::FoldOp op) {
  Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  Value tiles = b.ceilDivide(item.request.kvLen, form->kvTile);
  b.loop(b.index(0), tiles, 1, [&](Value tile) { emitFoldStep(op, tile, yes); });
}

/// One loop over the ranges and one over the tiles of each, so that the step is emitted once.
void SpaceEmitter::emitRanges(tile::FoldOp op, tile::MaskOp mask) {
  TileBounds bounds = deriveTileBounds(mask.getSets().getMaskSets());
  VisitContext context = visitContext(kernel, mask, item, form->kvTile);
  SmallVector<VisitRange> ranges = emitVisits(b, b.getLoc(), bounds, context);
  int64_t count = ranges.size();
  Value ends = kernel.scratch({std::max<int64_t>(count, 1), 3}, b.getI64Type());
  auto put = [&](int64_t i, int64_t j, Value value) {
    b.store(arith::IndexCastOp::create(b, b.getI64Type(), value), ends, {b.index(i), b.index(j)});
  };
  auto get = [&](Value i, int64_t j) {
    return Value(arith::IndexCastOp::create(b, b.getIndexType(), b.load(ends, {i, b.index(j)})));
  };
  Value total = b.index(0);
  for (VisitRange &range : ranges)
    total = b.add(total, b.sub(range.end, range.begin));
  // An item of a split space takes the tiles numbered [total s / S, total (s + 1) / S) of its list.
  int64_t splits = space.getSchedule()->getSplits();
  Value shareBegin = b.divide(b.mul(total, item.split), splits);
  Value shareEnd = b.divide(b.mul(total, b.add(item.split, 1)), splits);
  Value before = b.index(0);
  for (auto [i, range] : llvm::enumerate(ranges)) {
    auto clip = [&](Value number) {
      return b.max(b.min(b.add(range.begin, b.sub(number, before)), range.end), range.begin);
    };
    put(i, 0, splits == 1 ? range.begin : clip(shareBegin));
    put(i, 1, splits == 1 ? range.end : clip(shareEnd));
    put(i, 2, b.index(static_cast<int64_t>(range.kind)));
    before = b.add(before, b.sub(range.end, range.begin));
  }
  auto kindIs = [&](Value kind, VisitKind which) {
    return b.compare(Predicate::eq, kind, b.index(static_cast<int64_t>(which)));
  };
  // What the list leaves out, counted once for all splits of an item.
  kernel.count(Counter::TilesSkipped, [&] {
    Value all = b.ceilDivide(item.request.kvLen, form->kvTile);
    Value first = b.compare(Predicate::eq, item.split, b.index(0));
    return b.select(first, b.sub(all, total), b.index(0));
  });
  bool tests =
      llvm::any_of(ranges, [](VisitRange &range) { return range.kind == VisitKind::Test; });
  bool bitmap = bool(mask.getBitmap());
  b.loop(b.index(0), b.index(count), 1, [&](Value i) {
    Value kind = get(i, 2);
    Value partial = kindIs(kind, VisitKind::Partial);
    if (bitmap) // no tile is known to be full
      partial = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    b.loop(get(i, 0), get(i, 1), 1, [&](Value tile) {
      if (!tests)
        return emitFoldStep(op, tile, partial);
      Value isTest = kindIs(kind, VisitKind::Test);
      TestResult test = emitTileTest(b, b.getLoc(), bounds, context, tile);
      Value visit = b.select(isTest, test.visit, arith::ConstantIntOp::create(b, b.getI1Type(), 1));
      Value masked =
          arith::OrIOp::create(b, partial, arith::AndIOp::create(b, isTest, test.partial));
      kernel.count(Counter::TilesSkipped, [&] { return b.select(visit, b.index(0), b.index(1)); });
      b.ifThen(visit, [&] { emitFoldStep(op, tile, masked); });
    });
  });
}

void SpaceEmitter::emitFold(tile::FoldOp op) {
  if (!scores) {
    MemRefType type = form->scoreType(form->kvTile);
    scores = kernel.scratch(type.getShape());
  }
  auto visits = op.getVisits() ? op.getVisits().getDefiningOp<tile::VisitsOp>() : tile::VisitsOp();
  if (visits)
    emitRanges(op, visits.getMask().getDefiningOp<tile::MaskOp>());
  else
    emitAllTiles(op);
}

//===----------------------------------------------------------------------===//
// The standard form
//===----------------------------------------------------------------------===//

void SpaceEmitter::forAllTiles(llvm::function_ref<void(const KVTile &)> body) {
  Value tiles = b.ceilDivide(item.request.kvLen, form->kvTile);
  b.loop(b.index(0), tiles, 1, [&](Value tile) { body(tileAt(tile, /*inBuffer=*/true)); });
}

/// The item's slab of the scores: [all keys, q_tile] or [q_tile, all keys], as the form has it.
Value SpaceEmitter::allScores() {
  attn::BoundsAttr bounds = kernel.workspaceLayout().getBounds();
  int64_t keys = (bounds.getKvLen() + form->kvTile - 1) / form->kvTile * form->kvTile;
  int64_t rows = bounds.maxTokens() * int64_t(space.getGroup());
  int64_t items = (rows / form->qTile + bounds.getBatch()) * space.getKv().getType().getHeads();
  MemRefType slab = form->scoreType(keys);
  SmallVector<int64_t> shape{items};
  llvm::append_range(shape, slab.getShape());
  auto all = MemRefType::get(shape, b.getF32Type());
  int64_t bytes = all.getNumElements() * int64_t(sizeof(float));
  Value memory =
      kernel.workspaceView(kernel.workspaceLayout().offsetOf(space.getItem(), bytes), all, {});
  SmallVector<OpFoldResult> offsets{item.ticket, b.getIndexAttr(0), b.getIndexAttr(0)},
      sizes{b.getIndexAttr(1)};
  for (int64_t extent : slab.getShape())
    sizes.push_back(b.getIndexAttr(extent));
  SmallVector<OpFoldResult> strides(3, b.getIndexAttr(1));
  auto type =
      memref::SubViewOp::inferRankReducedResultType(slab.getShape(), all, offsets, sizes, strides);
  return memref::SubViewOp::create(b, cast<MemRefType>(type), memory, offsets, sizes, strides);
}

void SpaceEmitter::emitContractAll(tile::ContractOp) {
  scores = allScores();
  forAllTiles([&](const KVTile &tile) {
    countTile(arith::ConstantIntOp::create(b, b.getI1Type(), 1), tile);
    form->scores(item, tile, scores);
  });
}

void SpaceEmitter::emitMapAll(tile::MapOp op) {
  forAllTiles([&](const KVTile &tile) { emitMap(op, tile, Value()); });
}

void SpaceEmitter::emitSoftmaxAll() {
  form->initState();
  Value whole = b.mul(b.divide(item.request.kvLen, form->kvTile), form->kvTile);
  form->softmaxStep(b.add(whole, form->roundedKeys(b.sub(item.request.kvLen, whole))), scores);
}

void SpaceEmitter::emitAccumulateAll() {
  forAllTiles([&](const KVTile &tile) { form->accumulate(item, tile, scores, /*rescale=*/false); });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void SpaceEmitter::emitFinish(tile::FinishOp op) {
  form->scaleValues();
  Finish finish(kernel, op.getOutput(), op.getLse(), op.getSinks(), op.getBody());
  b.loop(b.index(0), item.rows, 1, [&](Value m) {
    auto fact = [&](Value facts) { return b.toIndex(b.load(facts, {m})); };
    finish.emit(
        {b.load(form->max, {m}), b.load(form->sum, {m}), form->acc, {m}},
        {fact(form->queryRow), fact(form->queryHead), fact(form->position), fact(form->token)});
  });
}

void SpaceEmitter::emitStorePartial(tile::StorePartialOp op) {
  Value partials = kernel.find(op.getPartials());
  int64_t vDim = space.getKv().getType().getVDim();
  form->scaleValues();
  b.loop(b.index(0), item.rows, 1, [&](Value m) {
    Value token = b.toIndex(b.load(form->token, {m})),
          head = b.toIndex(b.load(form->queryHead, {m}));
    auto at = [&](Value i) { return HostBuilder::Values{item.split, token, head, i}; };
    b.store(b.load(form->max, {m}), partials, at(b.index(0)));
    b.store(b.load(form->sum, {m}), partials, at(b.index(1)));
    b.forVectors(vDim, [&](Value offset, int64_t lanes) {
      b.storeVector(b.loadVector(form->acc, {m, offset}, lanes), partials, at(b.add(offset, 2)));
    });
  });
}

} // namespace

LogicalResult host::emitSpace(Kernel &kernel, tile::SpaceOp op) {
  return SpaceEmitter(kernel, op).emit();
}
