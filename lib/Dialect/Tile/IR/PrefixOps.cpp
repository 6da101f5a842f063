//===- PrefixOps.cpp - shared prefixes in the tile dialect ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Tile/IR/PrefixOps.h"
#include "Verifier.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pagefold::tile;

#define GET_OP_CLASSES
#include "pagefold/Dialect/Tile/IR/PrefixOps.cpp.inc"

LogicalResult CutPrefixOp::verify() {
  auto batch = getBatch().getDefiningOp<BatchOp>();
  if (batch && !batch.getKv().getType().isPaged())
    return emitOpError("C1: expects a batch of a paged KV, got ") << batch.getKv().getType();
  Type i32 = IntegerType::get(getContext(), 32);
  if (failed(verifyBuffer(*this, "C2", "the promised length", getPrefix(), {{1}, i32})) ||
      failed(verifyBuffer(*this, "C2", "the shared length", getLen(), {{1}, i32})) ||
      failed(verifyBuffer(*this, "C2", "the shared rows", getRows(), {{2}, i32})))
    return failure();
  auto rest = cast<MemRefType>(getRestTable().getType());
  if (failed(verifyBuffer(*this, "C3", "the rest's table", getRestTable(),
                          {{kAnyExtent, kAnyExtent}, i32})))
    return failure();
  if (!rest.hasStaticShape())
    return emitOpError("C3: expects the rest's table to have static extents, got ") << rest;
  if (failed(verifyBuffer(*this, "C3", "the rest's lengths", getRestLens(),
                          {{rest.getDimSize(0)}, i32})))
    return failure();
  return verifyBuffer(*this, "C3", "the shared table", getTable(), {{1, rest.getDimSize(1)}, i32});
}
