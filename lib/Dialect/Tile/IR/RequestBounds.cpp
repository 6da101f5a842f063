//===- RequestBounds.cpp - the declared maxima of a batch -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Tile/IR/RequestBounds.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "pagefold/Dialect/Attn/IR/DeclaredBounds.h"

using namespace mlir;
using namespace pagefold;

static attn::BoundsAttr boundsOfFunction(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function->getAttrOfType<attn::BoundsAttr>(attn::kBoundsName)
                  : attn::BoundsAttr();
}

attn::BoundsAttr tile::boundsOf(BatchOp batch) {
  auto own = batch->getAttrOfType<attn::BoundsAttr>(kBoundsAttr);
  return own ? own : boundsOfFunction(batch);
}

attn::BoundsAttr tile::boundsOf(SpaceOp space) {
  auto batch = space.getBatch().getDefiningOp<BatchOp>();
  return batch ? boundsOf(batch) : boundsOfFunction(space);
}
