//===- TileOps.cpp - verifiers of the tile dialect ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::tile;

#define GET_OP_CLASSES
#include "pagefold/Dialect/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Block *tile::addScalarBlock(Region &region, unsigned numArgs, Location loc) {
  Block &block = region.emplaceBlock();
  MLIRContext *context = region.getContext();
  block.addArgument(Float32Type::get(context), loc);
  for (unsigned i = 1; i < numArgs; ++i)
    block.addArgument(IntegerType::get(context, 32), loc);
  return &block;
}

bool tile::isIdentity(Region &region) {
  Block &block = region.front();
  auto yield = dyn_cast<YieldOp>(&block.front());
  return yield && yield.getValue() == block.getArgument(0);
}

/// The region takes (f32, i32...) and yields f32.
static LogicalResult verifyScalarRegion(Operation *op, Region &region, unsigned numArgs) {
  Block &block = region.front();
  auto isExpected = [&](BlockArgument arg) {
    return arg.getArgNumber() == 0 ? arg.getType().isF32() : arg.getType().isInteger(32);
  };
  if (block.getNumArguments() != numArgs || !llvm::all_of(block.getArguments(), isExpected))
    return op->emitOpError("expects its region to take (f32, ")
           << numArgs - 1 << " x i32), got (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || !yield.getValue().getType().isF32())
    return op->emitOpError("expects its region to yield f32");
  return success();
}

/// The region takes one tile of rows and yields one of the same type.
static LogicalResult verifyRowRegion(Operation *op, Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 1 || !isa<TileType>(block.getArgument(0).getType()))
    return op->emitOpError("expects a region that takes one tile, got (")
           << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || yield.getValue().getType() != block.getArgument(0).getType())
    return op->emitOpError("expects its region to yield ") << block.getArgument(0).getType();
  return success();
}

LogicalResult RowMapOp::verifyRegions() {
  return verifyScalarRegion(*this, getBody(), kRowMapArgs);
}
LogicalResult MapOp::verifyRegions() { return verifyScalarRegion(*this, getBody(), kScoreArgs); }
LogicalResult FinishOp::verifyRegions() {
  return verifyScalarRegion(*this, getBody(), kEpilogueArgs);
}
LogicalResult MergeSplitsOp::verifyRegions() {
  return verifyScalarRegion(*this, getBody(), kEpilogueArgs);
}
LogicalResult RowsOp::verifyRegions() { return verifyRowRegion(*this, getBody()); }
LogicalResult LoadQOp::verifyRegions() { return verifyRowRegion(*this, getBody()); }
LogicalResult AppendOp::verifyRegions() {
  if (failed(verifyRowRegion(*this, getKeyBody())))
    return failure();
  return verifyRowRegion(*this, getValueBody());
}

LogicalResult SpaceOp::verifyRegions() {
  if (getBody().getNumArguments() != 1 || !isa<ItemType>(getBody().getArgument(0).getType()))
    return emitOpError("C1: expects a region that takes one item");
  if (getGroup() < 1 || getGroup() > 128)
    return emitOpError("C2: expects a group from 1 to 128, got ") << getGroup();
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  Block &block = getBody().front();
  bool takes = block.getNumArguments() == 3 && block.getArgument(0).getType().isIndex() &&
               block.getArgument(1).getType().isInteger(1) &&
               block.getArgument(2).getType() == getInit().getType();
  if (!takes)
    return emitOpError("C1: expects a region that takes (index, i1, ")
           << getInit().getType() << "), got (" << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || !yield.getValue() || yield.getValue().getType() != getInit().getType())
    return emitOpError("C1: expects its region to yield ") << getInit().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult ContractOp::verify() {
  ArrayRef<int64_t> q = getQuery().getType().getShape(), k = getKey().getType().getShape();
  TileType result = getResult().getType();
  if (q.size() != 2 || k.size() != 2 || q[1] != k[1] ||
      result.getShape() != ArrayRef<int64_t>{q[0], k[0]} || !result.getElementType().isF32())
    return emitOpError("C1: expects [q, d] x [n, d] -> [q, n] in f32, got ")
           << getQuery().getType() << " x " << getKey().getType() << " -> " << result;
  return success();
}

LogicalResult AccumulateOp::verify() {
  ArrayRef<int64_t> p = getWeights().getType().getShape(), v = getValues().getType().getShape();
  if (p.size() != 2 || v.size() != 2 || p[1] != v[0] || v[1] != getState().getType().getVDim())
    return emitOpError("C1: expects [q, n] x [n, v_dim] into a state of v_dim, got ")
           << getWeights().getType() << " x " << getValues().getType() << " into "
           << getState().getType();
  return success();
}
