//===- AttnToTile.cpp - level 1 to level 2 --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function is written anew on buffers: arguments become strided memrefs (a cache its pages,
// table and lengths), results become trailing arguments, and every op is converted in order, its
// destination known beforehand (Destinations). See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "ArgumentShapes.h"
#include "ConvertPrefix.h"
#include "ConvertRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Conversion/Passes.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"
#include "pagefold/Dialect/Attn/IR/PrefixOps.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "llvm/ADT/TypeSwitch.h"

namespace pagefold {
#define GEN_PASS_DEF_ATTNTOTILE
#include "pagefold/Conversion/Passes.h.inc"
} // namespace pagefold

using namespace mlir;
using namespace pagefold;

namespace {

/// A buffer for a tensor: dense if `dense`, else any strides with the innermost dim contiguous.
MemRefType bufferType(RankedTensorType tensor, bool dense) {
  if (dense || tensor.getRank() == 0)
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout);
}

bool isReshape(Operation *op) {
  return isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
}

/// A reshape needs dense strides of what it reads.
bool isReshaped(Value value) {
  return isReshape(value.getDefiningOp()) || llvm::any_of(value.getUsers(), isReshape);
}

/// Buffers of tensors are counted in tokens: a reshape that mixes them with another dimension would
/// need extents that the launch plan cannot say.
LogicalResult checkReshape(Operation *op) {
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  auto groups = collapse ? collapse.getReassociationIndices()
                         : cast<tensor::ExpandShapeOp>(op).getReassociationIndices();
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  bool keepsTokens = !groups.empty() && groups.front().size() == 1;
  if (type.hasStaticShape() ||
      (keepsTokens && type.getNumDynamicDims() == 1 && type.isDynamicDim(0)))
    return success();
  return op->emitOpError("expects a reshape that keeps its first dimension, the tokens, and static "
                         "other dimensions, got ")
         << type << " to " << op->getResult(0).getType();
}

/// One argument of the new function, with its entry of the launch plan.
struct Argument {
  Type type;
  DictionaryAttr description;
};

/// Converts one function.
class FunctionConverter {
public:
  explicit FunctionConverter(func::FuncOp source) : source(source), builder(source.getContext()) {}
  LogicalResult run();

private:
  // Signature.
  void addArgument(Type type, StringRef name, ArrayAttr shape, StringRef access,
                   bool dense = false);
  void addTensorArgument(Value value, RankedTensorType type, StringRef name, ArrayAttr shape,
                         StringRef access);
  void addCacheArgument(attn::PagedKVType type, StringRef name);
  LogicalResult buildSignature();
  LogicalResult bindArguments();
  void collectRopeTables();

  // Values.
  Value lookup(Value value);
  Value batchOf(Value rows, Value kv, Value tokens);
  Value destination(Value tensor);
  Value placeFor(Value tensor);

  // Ops.
  LogicalResult convert(Operation *op);
  LogicalResult convert(attn::CacheOp op);
  LogicalResult convert(attn::AppendOp op);
  LogicalResult convert(attn::AttentionOp op);
  LogicalResult convert(attn::MergeOp op);
  LogicalResult convert(attn::SharedPrefixOp op);
  LogicalResult convert(attn::CutPrefixOp op);
  LogicalResult convertRows(Operation *op);
  LogicalResult convertGeneric(linalg::GenericOp op);
  LogicalResult convertReshape(Operation *op);
  Value keysAndValues(attn::AttentionOp op);
  void buildStandardForm(attn::AttentionOp op, tile::SpaceOp space, Value kv, Value mask);

  func::FuncOp source, target;
  OpBuilder builder;
  attn::BoundsAttr bounds;
  SmallVector<Argument> arguments;
  DenseMap<Value, Value> values; // tensor -> buffer, cache -> kv, scalar -> scalar
  DenseMap<std::pair<Value, Value>, Value> batches; // (rows, kv) -> batch
  DenseMap<Value, attn::BoundsAttr> ownBounds;      // of a kv whose requests are not the function's
  SmallVector<Value> ropeTables;                    // those whose positions follow a cache
  DenseSet<Operation *> placed; // reshapes whose source is written in their place
  Value tokens;                 // a buffer whose dim 0 counts the tokens
};

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

StringRef elementName(Type type) {
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float64Type) { return "f64"; })
      .Case([](Float16Type) { return "f16"; })
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float8E4M3FNType) { return "f8e4m3"; })
      .Case([](IntegerType integer) {
        return integer.getWidth() == 64  ? "i64"
               : integer.getWidth() == 8 ? "i8"
               : integer.getWidth() == 1 ? "bool"
                                         : "i32";
      })
      .Default([](Type) { return "unknown"; });
}

void FunctionConverter::addArgument(Type type, StringRef name, ArrayAttr shape, StringRef access,
                                    bool dense) {
  auto memref = dyn_cast<MemRefType>(type);
  NamedAttrList entry;
  entry.set("name", builder.getStringAttr(name));
  entry.set("dtype", builder.getStringAttr(elementName(memref ? memref.getElementType() : type)));
  entry.set("shape", shape);
  entry.set("access", builder.getStringAttr(access));
  if (!memref)
    entry.set("scalar", builder.getUnitAttr());
  if (dense)
    entry.set("contiguous", builder.getUnitAttr());
  arguments.push_back({type, entry.getDictionary(builder.getContext())});
}

void FunctionConverter::addTensorArgument(Value value, RankedTensorType type, StringRef name,
                                          ArrayAttr shape, StringRef access) {
  bool dense = isReshaped(value);
  addArgument(bufferType(type, dense), name, shape, access, dense);
}

void FunctionConverter::addCacheArgument(attn::PagedKVType type, StringRef name) {
  auto part = [&](StringRef suffix) { return (name + "." + suffix).str(); };
  auto add = [&](StringRef suffix, ArrayRef<int64_t> shape, Type element, ArrayAttr names,
                 StringRef access) {
    addArgument(bufferType(RankedTensorType::get(shape, element), false), part(suffix), names,
                access);
  };
  auto names = [&](ArrayRef<Attribute> dims) { return builder.getArrayAttr(dims); };
  auto word = [&](const Twine &text) -> Attribute { return builder.getStringAttr(text); };
  auto number = [&](int64_t value) -> Attribute { return builder.getI64IntegerAttr(value); };
  constexpr int64_t any = ShapedType::kDynamic;
  Attribute pages = word(part("pages")), page = number(type.getPageSize()),
            heads = number(type.getHeads());
  add("k_pages", {any, type.getPageSize(), type.getHeads(), type.getKDim()}, type.getElementType(),
      names({pages, page, heads, number(type.getKDim())}), "readwrite");
  add("v_pages", {any, type.getPageSize(), type.getHeads(), type.getVDim()}, type.getElementType(),
      names({pages, page, heads, number(type.getVDim())}), "readwrite");
  add("table", {any, any}, builder.getI32Type(), names({word("batch"), word(part("width"))}),
      "read");
  add("lens", {any}, builder.getI32Type(), names({word("batch")}), "read");
  if (!type.isScaled())
    return;
  for (StringRef scale : {"k_scale", "v_scale"})
    add(scale, {type.getHeads()}, builder.getF32Type(), names({heads}), "read");
}

/// Whether a tensor argument holds pages that an append writes.
bool isWritten(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto cache = dyn_cast<attn::CacheOp>(user);
    return cache && (value == cache.getKPages() || value == cache.getVPages());
  });
}

LogicalResult FunctionConverter::buildSignature() {
  for (Operation &op : source.front())
    if (isReshape(&op) && failed(checkReshape(&op)))
      return failure();
  for (BlockArgument arg : source.getArguments()) {
    auto given = source.getArgAttrOfType<StringAttr>(arg.getArgNumber(), "pagefold.name");
    std::string name = given ? given.str() : "arg" + std::to_string(arg.getArgNumber());
    Type type = arg.getType();
    if (auto cache = dyn_cast<attn::PagedKVType>(type))
      addCacheArgument(cache, name);
    else if (auto tensor = dyn_cast<RankedTensorType>(type))
      addTensorArgument(arg, tensor, name, describeShape(arg, name),
                        isWritten(arg) ? "readwrite" : "read");
    else if (type.isF32() || type.isInteger(32))
      addArgument(type, name, builder.getArrayAttr({}), "read");
    else
      return source.emitError() << "expects arguments to be tensors, caches, f32 or i32, got "
                                << type << " for argument " << arg.getArgNumber();
  }
  auto ret = cast<func::ReturnOp>(source.front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    if (isa<attn::PagedKVType>(value.getType()))
      continue; // written in place
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor || isa<BlockArgument>(value))
      return ret.emitError() << "expects result " << i
                             << " to be a tensor that the function computes, got "
                             << value.getType()
                             << (isa<BlockArgument>(value) ? " (an argument)" : "");
    addTensorArgument(value, tensor, "out" + std::to_string(i), describeTokens(tensor), "write");
  }
  return success();
}

tile::KVType kvType(attn::PagedKVType cache) {
  return tile::KVType::get(cache.getContext(), cache.getHeads(), cache.getKDim(), cache.getVDim(),
                           cache.getElementType(), cache.getPageSize());
}

LogicalResult FunctionConverter::bindArguments() {
  unsigned next = 0;
  Block &block = target.front();
  Location loc = source.getLoc();
  for (BlockArgument arg : source.getArguments()) {
    auto cache = dyn_cast<attn::PagedKVType>(arg.getType());
    if (!cache) {
      values[arg] = block.getArgument(next++);
      continue;
    }
    auto take = [&] { return block.getArgument(next++); };
    Value kPages = take(), vPages = take(), table = take(), lens = take();
    Value kScale = cache.isScaled() ? take() : Value(),
          vScale = cache.isScaled() ? take() : Value();
    values[arg] = tile::PagedOp::create(builder, loc, kvType(cache), kPages, vPages, table, Value(),
                                        lens, kScale, vScale);
  }
  for (auto [argument, value] : llvm::zip(arguments, block.getArguments()))
    if (auto shape = argument.description.getAs<ArrayAttr>("shape"); !tokens && !shape.empty())
      if (shape[0] == builder.getStringAttr("tokens"))
        tokens = value;
  for (Value value : source.front().getTerminator()->getOperands())
    if (!isa<attn::PagedKVType>(value.getType())) {
      if (values.contains(value))
        return source.front().getTerminator()->emitError("expects each result to be returned once");
      values[value] = block.getArgument(next++);
    }
  return success();
}

/// What a value is outside the prologue whose block argument it is.
Value outsideOf(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg || arg.getArgNumber() == 0)
    return value;
  unsigned capture = arg.getArgNumber() - 1;
  Region *region = arg.getOwner()->getParent();
  if (auto attention = dyn_cast<attn::AttentionOp>(region->getParentOp()))
    return attention.getQueryCaptures()[capture];
  if (auto append = dyn_cast<attn::AppendOp>(region->getParentOp()))
    return region == &append.getKeyPrologue() ? append.getKeyCaptures()[capture]
                                              : append.getValueCaptures()[capture];
  return value;
}

/// The tables that bound positions: those of ropes that take their positions from a cache.
void FunctionConverter::collectRopeTables() {
  source.walk([&](attn::RopeOp rope) {
    for (Value table : {outsideOf(rope.getCos()), outsideOf(rope.getSin())})
      if (rope.getRows() && !llvm::is_contained(ropeTables, table))
        ropeTables.push_back(table);
  });
}

//===----------------------------------------------------------------------===//
// Values and their places
//===----------------------------------------------------------------------===//

Value FunctionConverter::lookup(Value value) {
  if (Value known = values.lookup(value))
    return known;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return values[value] = builder.clone(*constant)->getResult(0);
  return {};
}

/// The inverse of the reshape that makes `reshaped`, on its buffer: where its source is to be
/// written.
Value inverseReshape(OpBuilder &builder, Operation *reshape, Value buffer) {
  Location loc = reshape->getLoc();
  auto source = cast<RankedTensorType>(reshape->getOperand(0).getType());
  MemRefType type = MemRefType::get(source.getShape(), source.getElementType());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    SmallVector<OpFoldResult> shape;
    for (auto [dim, extent] : llvm::enumerate(source.getShape()))
      shape.push_back(ShapedType::isDynamic(extent)
                          ? OpFoldResult(memref::DimOp::create(builder, loc, buffer, 0).getResult())
                          : OpFoldResult(builder.getIndexAttr(extent)));
    return memref::ExpandShapeOp::create(builder, loc, type, buffer,
                                         collapse.getReassociationIndices(), shape);
  }
  auto expand = cast<tensor::ExpandShapeOp>(reshape);
  return memref::CollapseShapeOp::create(builder, loc, type, buffer,
                                         expand.getReassociationIndices());
}

/// A buffer in the workspace: dim 0 counts the tokens, the others are static.
Value FunctionConverter::placeFor(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  SmallVector<Value> dims;
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      bytes *= extent;
    } else if (i == 0 && tokens) {
      dims.push_back(memref::DimOp::create(builder, tensor.getLoc(), tokens, 0));
      bytes *= bounds.maxTokens();
    } else {
      return {};
    }
  }
  return tile::WorkspaceOp::create(builder, tensor.getLoc(),
                                   MemRefType::get(type.getShape(), type.getElementType()), dims,
                                   builder.getI64IntegerAttr(bytes));
}

Value FunctionConverter::destination(Value tensor) {
  if (Value known = values.lookup(tensor))
    return known;
  for (Operation *user : tensor.getUsers())
    if (isReshape(user) && values.contains(user->getResult(0))) {
      placed.insert(user);
      return values[tensor] = inverseReshape(builder, user, values.lookup(user->getResult(0)));
    }
  Value place = placeFor(tensor);
  if (place)
    values[tensor] = place;
  else
    emitError(tensor.getLoc()) << "expects intermediate tensors to be [tokens, ...] with static "
                                  "extents but the first, got "
                               << tensor.getType();
  return place;
}

Value FunctionConverter::batchOf(Value rows, Value kv, Value tokensOfBatch) {
  Value &batch = batches[{rows, kv}];
  if (!batch) {
    SmallVector<Value> tables;
    for (Value table : ropeTables)
      if (Value buffer = lookup(table))
        tables.push_back(buffer);
    auto op =
        tile::BatchOp::create(builder, source.getLoc(), tile::BatchType::get(builder.getContext()),
                              rows, kv, tokensOfBatch, tables);
    if (attn::BoundsAttr own = ownBounds.lookup(kv))
      op->setAttr(tile::kBoundsAttr, own);
    batch = op;
  }
  return batch;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult FunctionConverter::convert(attn::CacheOp op) {
  auto pages = [&](Value tensor) {
    Value buffer = lookup(tensor);
    if (op.getLayout() == attn::Layout::NHD)
      return buffer;
    // hnd: the same memory with page and head exchanged.
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> shape{type.getDimSize(0), type.getDimSize(2), type.getDimSize(1),
                               type.getDimSize(3)};
    auto permuted = bufferType(RankedTensorType::get(shape, type.getElementType()), false);
    AffineMap map =
        AffineMap::getPermutationMap(ArrayRef<unsigned>{0, 2, 1, 3}, builder.getContext());
    return Value(memref::TransposeOp::create(builder, op.getLoc(), permuted, buffer,
                                             AffineMapAttr::get(map)));
  };
  auto optional = [&](Value tensor) { return tensor ? lookup(tensor) : Value(); };
  values[op.getCache()] = tile::PagedOp::create(
      builder, op.getLoc(), kvType(op.getCache().getType()), pages(op.getKPages()),
      pages(op.getVPages()), lookup(op.getTable()), optional(op.getStarts()), lookup(op.getLens()),
      optional(op.getKScale()), optional(op.getVScale()));
  return success();
}

tile::TileType rowTile(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return tile::TileType::get(type.getContext(), {tile::TileType::Q, type.getDimSize(2)},
                             Float32Type::get(type.getContext()));
}

LogicalResult FunctionConverter::convert(attn::AppendOp op) {
  Value key = lookup(op.getKey()), value = lookup(op.getValue()), kv = lookup(op.getCache());
  Value rows = lookup(op.getRows());
  Value batch = batchOf(rows, kv, key);
  auto append = tile::AppendOp::create(builder, op.getLoc(), key, value, kv, batch);
  auto find = [&](Value v) { return lookup(v); };
  auto same = [&](Value r, Value cache) { return lookup(r) == rows && lookup(cache) == kv; };
  if (failed(convertPrologue(op.getKeyPrologue(), op.getKeyCaptures(), find, append.getKeyBody(),
                             rowTile(key), same, op.getLoc())) ||
      failed(convertPrologue(op.getValuePrologue(), op.getValueCaptures(), find,
                             append.getValueBody(), rowTile(value), same, op.getLoc())))
    return failure();
  values[op.getResult()] = kv;
  return success();
}

Value FunctionConverter::keysAndValues(attn::AttentionOp op) {
  if (op.getCache())
    return lookup(op.getCache());
  auto type = tile::KVType::get(builder.getContext(), op.getKVHeads(), op.getKDim(), op.getVDim(),
                                op.getKVElementType(), 0);
  return tile::DenseOp::create(builder, op.getLoc(), type, lookup(op.getKey()),
                               lookup(op.getValue()), lookup(op.getKvRows()));
}

/// scores = contract(q, k); weights = softmax(map(scores)); acc = weights x v; finish.
void FunctionConverter::buildStandardForm(attn::AttentionOp op, tile::SpaceOp space, Value kv,
                                          Value mask) {
  MLIRContext *context = builder.getContext();
  Location loc = op.getLoc();
  Value item = space.getItem(), none;
  Type f32 = builder.getF32Type();
  auto tileOf = [&](int64_t rows, int64_t cols) {
    return tile::TileType::get(context, {rows, cols}, f32);
  };
  constexpr int64_t q = tile::TileType::Q, all = tile::TileType::All;
  Value query = space.getBody().front().back().getResult(0);
  Value keys = tile::LoadKOp::create(builder, loc, tileOf(all, op.getKDim()), kv, item, none);
  Value scores = tile::ContractOp::create(builder, loc, tileOf(q, all), query, keys);
  auto map = tile::MapOp::create(builder, loc, scores.getType(), scores, item, none, mask, none);
  tile::addScalarBlock(map.getBody(), tile::kScoreArgs, loc);
  auto find = [&](Value v) { return lookup(v); };
  convertScalarRegion(op.getScore(), op.getScoreCaptures(), find, map.getBody(),
                      {{1, 2, 3, 4}, 5, 6}, loc);
  auto state = tile::StateType::get(context, op.getVDim());
  auto softmax = tile::SoftmaxOp::create(builder, loc, scores.getType(), state, map.getResult());
  Value loaded = tile::LoadVOp::create(builder, loc, tileOf(all, op.getVDim()), kv, item, none);
  Value acc = tile::AccumulateOp::create(builder, loc, state, softmax.getWeights(), loaded,
                                         softmax.getState());
  Value lse = op.getLse() ? destination(op.getLse()) : none;
  Value sinks = op.getSinks() ? lookup(op.getSinks()) : none;
  auto finish = tile::FinishOp::create(builder, loc, acc, item, lookup(op.getResult()), lse, sinks);
  tile::addScalarBlock(finish.getBody(), tile::kEpilogueArgs, loc);
  convertScalarRegion(op.getEpilogue(), op.getEpilogueCaptures(), find, finish.getBody(),
                      {{1, 2, 3}, 4, 5}, loc);
}

LogicalResult FunctionConverter::convert(attn::AttentionOp op) {
  Location loc = op.getLoc();
  Value kv = keysAndValues(op), query = lookup(op.getQuery()), rows = lookup(op.getRows());
  Value batch = batchOf(rows, kv, query);
  if (!destination(op.getResult()) || (op.getLse() && !destination(op.getLse())))
    return failure();
  auto find = [&](Value v) { return lookup(v); };
  SmallVector<Value> symbols(llvm::map_range(op.getSymbols(), find));
  SmallVector<Value> rowValues(llvm::map_range(op.getRowValues(), find));
  Value bits = op.getBitmap() ? lookup(op.getBitmap()) : Value();
  Value starts = op.getBitmap() ? lookup(op.getBitmapStarts()) : Value();
  Value mask = tile::MaskOp::create(builder, loc, tile::MaskType::get(builder.getContext()),
                                    op.getMaskAttr(), symbols, rowValues, bits, starts);
  // Everything that the regions capture is found before the space is entered.
  for (ValueRange captures :
       {ValueRange(op.getScoreCaptures()), ValueRange(op.getEpilogueCaptures()),
        ValueRange(op.getQueryCaptures())})
    for (Value capture : captures)
      lookup(capture);
  if (op.getSinks())
    lookup(op.getSinks());
  auto space = tile::SpaceOp::create(builder, loc, batch, kv,
                                     builder.getI64IntegerAttr(op.getGroup()), tile::ScheduleAttr(),
                                     /*minQLen=*/IntegerAttr(), /*maxQLen=*/IntegerAttr());
  Block &block = space.getBody().emplaceBlock();
  block.addArgument(tile::ItemType::get(builder.getContext()), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  auto load = tile::LoadQOp::create(builder, loc, rowTile(query), query, space.getItem(),
                                    op.getScaleAttr());
  auto same = [&](Value r, Value cache) { return lookup(r) == rows && lookup(cache) == kv; };
  if (failed(convertPrologue(op.getQueryPrologue(), op.getQueryCaptures(), find, load.getBody(),
                             rowTile(query), same, loc)))
    return failure();
  buildStandardForm(op, space, kv, mask);
  return success();
}

LogicalResult FunctionConverter::convert(attn::MergeOp op) {
  Value out = destination(op.getResult()), lse = destination(op.getLse());
  if (!out || !lse)
    return failure();
  tile::MergeOp::create(builder, op.getLoc(), lookup(op.getOutA()), lookup(op.getLseA()),
                        lookup(op.getOutB()), lookup(op.getLseB()), out, lse);
  return success();
}

/// What was not cut is a cache like any other.
LogicalResult FunctionConverter::convert(attn::SharedPrefixOp op) {
  values[op.getResult()] = lookup(op.getCache());
  return success();
}

LogicalResult FunctionConverter::convert(attn::CutPrefixOp op) {
  Value length = lookup(op.getLength());
  if (!length || !isa<MemRefType>(length.getType()))
    return op.emitOpError("expects the length to be an argument of the function");
  Value batch = batchOf(lookup(op.getRows()), lookup(op.getCache()), lookup(op.getTokens()));
  CutCache cut =
      cutPrefix(builder, op.getLoc(), length, batch.getDefiningOp<tile::BatchOp>(), bounds);
  values[op.getShared()] = cut.shared;
  values[op.getAll()] = cut.all;
  values[op.getRest()] = cut.rest;
  ownBounds[cut.shared] = cut.sharedBounds;
  return success();
}

/// A rope or norm that fused into nothing: a kernel of its own.
LogicalResult FunctionConverter::convertRows(Operation *op) {
  Value input = lookup(op->getOperand(0)), output = destination(op->getResult(0));
  if (!output)
    return failure();
  Value batch;
  auto rope = dyn_cast<attn::RopeOp>(op);
  if (rope && rope.getRows())
    batch = batchOf(lookup(rope.getRows()), lookup(rope.getCache()), input);
  for (Value operand : op->getOperands())
    lookup(operand);
  auto rows = tile::RowsOp::create(builder, op->getLoc(), input, output, batch);
  Block &block = rows.getBody().emplaceBlock();
  block.addArgument(rowTile(input), op->getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  Value result =
      convertRowOp(builder, op, block.getArgument(0), [&](Value v) { return lookup(v); });
  if (!result)
    return failure();
  tile::YieldOp::create(builder, op->getLoc(), result);
  return success();
}

LogicalResult FunctionConverter::convertGeneric(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return op.emitOpError("expects one result that does not read its destination");
  Value output = destination(op.getResult(0));
  if (!output)
    return failure();
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(lookup(input));
  IRMapping mapping;
  if (failed(mapCaptures(op, [&](Value v) { return lookup(v); }, mapping)))
    return failure();
  auto generic =
      linalg::GenericOp::create(builder, op.getLoc(), TypeRange(), inputs, ValueRange(output),
                                op.getIndexingMapsArray(), op.getIteratorTypesArray());
  op.getRegion().cloneInto(&generic.getRegion(), mapping);
  return success();
}

/// `input`, a contiguous buffer, in the shape of the reshape's result.
Value reshapedView(OpBuilder &builder, Operation *op, Value input) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  MemRefType type = MemRefType::get(result.getShape(), result.getElementType());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return memref::CollapseShapeOp::create(builder, op->getLoc(), type, input,
                                           collapse.getReassociationIndices());
  auto expand = cast<tensor::ExpandShapeOp>(op);
  SmallVector<OpFoldResult> shape;
  for (int64_t extent : result.getShape())
    shape.push_back(
        ShapedType::isDynamic(extent)
            ? OpFoldResult(memref::DimOp::create(builder, op->getLoc(), input, 0).getResult())
            : OpFoldResult(builder.getIndexAttr(extent)));
  return memref::ExpandShapeOp::create(builder, op->getLoc(), type, input,
                                       expand.getReassociationIndices(), shape);
}

/// A kernel that copies a buffer.
void copyBuffer(OpBuilder &builder, Location loc, Value from, Value to) {
  unsigned rank = cast<MemRefType>(to.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  linalg::GenericOp::create(builder, loc, TypeRange(), from, to, maps, loops,
                            [](OpBuilder &inner, Location loc, ValueRange args) {
                              linalg::YieldOp::create(inner, loc, args[0]);
                            });
}

LogicalResult FunctionConverter::convertReshape(Operation *op) {
  if (placed.contains(op))
    return success(); // the source was written into the reshaped place
  Value view = reshapedView(builder, op, lookup(op->getOperand(0)));
  // A result whose source has a place of its own: an argument, or another result.
  if (Value result = values.lookup(op->getResult(0)))
    copyBuffer(builder, op->getLoc(), view, result);
  else
    values[op->getResult(0)] = view;
  return success();
}

LogicalResult FunctionConverter::convert(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<attn::CacheOp, attn::AppendOp, attn::AttentionOp, attn::MergeOp, attn::SharedPrefixOp,
            attn::CutPrefixOp>([&](auto typed) { return convert(typed); })
      .Case<attn::RopeOp, attn::RmsNormOp>([&](Operation *rows) { return convertRows(rows); })
      .Case([&](linalg::GenericOp generic) { return convertGeneric(generic); })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          [&](Operation *reshape) { return convertReshape(reshape); })
      .Case<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(
          [](Operation *) { return success(); })
      .Case([&](func::ReturnOp ret) {
        func::ReturnOp::create(builder, ret.getLoc());
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError(
            "is not part of level 1: expects attn ops, elementwise linalg.generic and reshapes");
      });
}

LogicalResult FunctionConverter::run() {
  bounds = source->getAttrOfType<attn::BoundsAttr>(attn::kBoundsName);
  if (!bounds)
    return source.emitError(
        "expects the declared maxima as attribute attn.bounds = #attn.bounds<batch .., q_len .., "
        "kv_len ..>: they bound grid and workspace");
  if (!source.getBody().hasOneBlock())
    return source.emitError("expects a body of one block");
  if (failed(buildSignature()))
    return failure();
  SmallVector<Type> types;
  SmallVector<Attribute> descriptions;
  for (Argument &argument : arguments) {
    types.push_back(argument.type);
    descriptions.push_back(argument.description);
  }
  builder.setInsertionPoint(source);
  target = func::FuncOp::create(builder, source.getLoc(), source.getName(),
                                builder.getFunctionType(types, {}));
  target->setAttr(attn::kBoundsName, bounds);
  if (Attribute graph = source->getAttr(attn::kGraphName))
    target->setAttr(attn::kGraphName, graph);
  target->setAttr("tile.args", builder.getArrayAttr(descriptions));
  builder.setInsertionPointToStart(target.addEntryBlock());
  if (failed(bindArguments()))
    return failure();
  collectRopeTables();
  for (Operation &op : source.front())
    if (failed(convert(&op)))
      return failure();
  source.erase();
  return success();
}

struct AttnToTile : pagefold::impl::AttnToTileBase<AttnToTile> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (!function.isExternal() && failed(FunctionConverter(function).run()))
        return signalPassFailure();
  }
};

} // namespace
