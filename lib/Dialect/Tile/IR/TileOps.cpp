//===- TileOps.cpp - operations of the tile dialect -----------------------===//
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
