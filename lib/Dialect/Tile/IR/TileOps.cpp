//===- TileOps.cpp - operations of the tile dialect -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::tile;

#define GET_OP_CLASSES
#include "pagefold/Dialect/Tile/IR/TileOps.cpp.inc"

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

//===----------------------------------------------------------------------===//
// What kernels of rows touch
//===----------------------------------------------------------------------===//

/// The buffer that a view is of.
static Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

static void insertRoots(SetVector<Value> &roots, ValueRange buffers) {
  for (Value buffer : buffers)
    if (buffer)
      roots.insert(rootOf(buffer));
}

/// What tells the extents of requests: no keys or values are read for that.
static void insertExtents(SetVector<Value> &roots, Value batch) {
  auto op = batch.getDefiningOp<BatchOp>();
  if (!op)
    return insertRoots(roots, batch);
  insertRoots(roots, op.getRows());
  if (auto paged = op.getKv().getDefiningOp<PagedOp>())
    insertRoots(roots, {paged.getTable(), paged.getStarts(), paged.getLens()});
  else if (auto dense = op.getKv().getDefiningOp<DenseOp>())
    insertRoots(roots, dense.getRows());
}

/// The buffers that a kernel of rows writes.
static SetVector<Value> written(Operation *op) {
  SetVector<Value> roots;
  if (auto rows = dyn_cast<RowsOp>(op))
    insertRoots(roots, rows.getOutput());
  else if (auto append = cast<AppendOp>(op); auto paged = append.getKv().getDefiningOp<PagedOp>())
    insertRoots(roots, {paged.getKPages(), paged.getVPages()});
  else
    insertRoots(roots, append.getKv());
  return roots;
}

/// The buffers that it writes or reads.
static SetVector<Value> touched(Operation *op) {
  SetVector<Value> roots = written(op), captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  insertRoots(roots, captured.getArrayRef());
  if (auto rows = dyn_cast<RowsOp>(op)) {
    insertRoots(roots, rows.getInput());
    if (rows.getBatch())
      insertExtents(roots, rows.getBatch());
    return roots;
  }
  auto append = cast<AppendOp>(op);
  insertRoots(roots, {append.getKey(), append.getValue()});
  insertExtents(roots, append.getBatch());
  if (auto paged = append.getKv().getDefiningOp<PagedOp>())
    insertRoots(roots, paged->getOperands());
  return roots;
}

bool tile::conflict(Operation *rows, Operation *others) {
  auto changes = [](Operation *writer, Operation *other) {
    SetVector<Value> used = touched(other);
    return llvm::any_of(written(writer), [&](Value root) { return used.contains(root); });
  };
  return changes(rows, others) || changes(others, rows);
}
