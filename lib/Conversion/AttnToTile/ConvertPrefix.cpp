//===- ConvertPrefix.cpp - a cache in two parts, on buffers ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts are caches like any other, with page tables of their own: kernels of attention know of
// no prefix. The tables have the extents that the declared maxima need, since the workspace has
// them too.
//
//===----------------------------------------------------------------------===//

#include "ConvertPrefix.h"
#include "pagefold/Dialect/Tile/IR/PrefixOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;

static Value i32Place(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape) {
  auto type = MemRefType::get(shape, builder.getI32Type());
  return tile::WorkspaceOp::create(
      builder, loc, type, ValueRange(),
      builder.getI64IntegerAttr(type.getNumElements() * int64_t(sizeof(int32_t))));
}

CutCache pagefold::cutPrefix(OpBuilder &builder, Location loc, Value length, tile::BatchOp batch,
                             attn::BoundsAttr bounds) {
  auto whole = batch.getKv().getDefiningOp<tile::PagedOp>();
  tile::KVType kv = whole.getKv().getType();
  int64_t columns = llvm::divideCeil(bounds.getKvLen(), kv.getPageSize());
  Value table = i32Place(builder, loc, {1, columns}), len = i32Place(builder, loc, {1}),
        rows = i32Place(builder, loc, {2}),
        restTable = i32Place(builder, loc, {bounds.getBatch(), columns}),
        restLens = i32Place(builder, loc, {bounds.getBatch()});
  tile::CutPrefixOp::create(builder, loc, length, batch, table, len, rows, restTable, restLens);
  auto part = [&](Value itsTable, Value lens) {
    return tile::PagedOp::create(builder, loc, kv, whole.getKPages(), whole.getVPages(), itsTable,
                                 /*starts=*/Value(), lens, whole.getKScale(), whole.getVScale());
  };
  int64_t tokens = bounds.maxTokens();
  return {part(table, len), rows, part(restTable, restLens),
          attn::BoundsAttr::get(builder.getContext(), /*batch=*/1, /*qLen=*/tokens,
                                bounds.getKvLen(), tokens)};
}
