//===- Verifier.cpp - what the verifiers of tile ops share ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"

using namespace mlir;
using namespace pagefold::tile;

//===----------------------------------------------------------------------===//
// Buffers and tiles
//===----------------------------------------------------------------------===//

static bool hasContiguousRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

static bool fits(MemRefType type, const BufferShape &expected) {
  if (type.getRank() != static_cast<int64_t>(expected.extents.size()) || !hasContiguousRows(type))
    return false;
  for (auto [extent, wanted] : llvm::zip(type.getShape(), expected.extents))
    if (wanted != kAnyExtent && extent != wanted)
      return false;
  return !expected.element || type.getElementType() == expected.element;
}

static std::string spell(const BufferShape &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape.extents, os, [&](int64_t extent) {
    if (extent == kAnyExtent)
      os << '?';
    else
      os << extent;
  });
  os << ']';
  if (shape.element)
    os << " of " << shape.element;
  return text;
}

LogicalResult pagefold::tile::verifyBuffer(Operation *op, StringRef constraint, StringRef what,
                                           Value buffer, const BufferShape &expected) {
  if (fits(cast<MemRefType>(buffer.getType()), expected))
    return success();
  return op->emitOpError(constraint) << ": expects " << what << " to be " << spell(expected)
                                     << " with contiguous rows, got " << buffer.getType();
}

LogicalResult pagefold::tile::verifyTile(Operation *op, StringRef constraint, StringRef what,
                                         Type type, ArrayRef<int64_t> shape) {
  auto expected = TileType::get(op->getContext(), shape, Float32Type::get(op->getContext()));
  if (type == expected)
    return success();
  return op->emitOpError(constraint) << ": expects " << what << " " << expected << ", got " << type;
}

LogicalResult pagefold::tile::verifyBatchOf(Operation *op, StringRef constraint, Value batch,
                                            Value kv) {
  auto known = batch.getDefiningOp<BatchOp>();
  if (!known || known.getKv() == kv)
    return success();
  auto diagnostic = op->emitOpError(constraint) << ": expects a batch of its KV";
  diagnostic.attachNote(known.getLoc()) << "the batch checks another KV here";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

LogicalResult pagefold::tile::verifyItem(Operation *op, StringRef constraint, Value item) {
  auto space = op->getParentOfType<SpaceOp>();
  if (!space)
    return op->emitOpError(constraint) << ": expects to stand in a tile.space";
  if (item.getParentRegion() != &space.getBody() || !isa<BlockArgument>(item))
    return op->emitOpError(constraint) << ": expects the item of the space around it";
  return success();
}

LogicalResult pagefold::tile::verifyTileNumber(Operation *op, StringRef constraint, Value tile) {
  auto fold = op->getParentOfType<FoldOp>();
  auto isOfFold = [&] {
    auto arg = dyn_cast_or_null<BlockArgument>(tile);
    return arg && arg.getParentRegion() == &fold.getBody() && arg.getArgNumber() == 0;
  };
  if (fold ? isOfFold() : !tile)
    return success();
  return op->emitOpError(constraint)
         << ": expects the tile's number of its fold in a fold, and none outside";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult pagefold::tile::verifyScalarRegion(Operation *op, StringRef constraint,
                                                 Region &region, unsigned numArgs) {
  Block &block = region.front();
  auto isExpected = [&](BlockArgument arg) {
    return arg.getArgNumber() == 0 ? arg.getType().isF32() : arg.getType().isInteger(32);
  };
  if (block.getNumArguments() != numArgs || !llvm::all_of(block.getArguments(), isExpected))
    return op->emitOpError(constraint) << ": expects its region to take (f32, " << numArgs - 1
                                       << " x i32), got (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || !yield.getValue().getType().isF32())
    return op->emitOpError(constraint) << ": expects its region to yield f32";
  return success();
}

LogicalResult pagefold::tile::verifyRowRegion(Operation *op, StringRef constraint, Region &region,
                                              int64_t dim) {
  Block &block = region.front();
  auto expected =
      TileType::get(op->getContext(), {TileType::Q, dim}, Float32Type::get(op->getContext()));
  if (block.getNumArguments() != 1 || block.getArgument(0).getType() != expected)
    return op->emitOpError(constraint) << ": expects a region that takes " << expected << ", got ("
                                       << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || yield.getValue().getType() != expected)
    return op->emitOpError(constraint) << ": expects its region to yield " << expected;
  return success();
}
