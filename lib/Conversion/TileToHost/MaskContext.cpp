//===- MaskContext.cpp - the run-time values of a mask --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskContext.h"
#include "ScalarRegions.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

SmallVector<Value> host::maskSymbols(Kernel &kernel, tile::MaskOp op, const Item &item,
                                     bool asIndex) {
  HostBuilder &b = kernel.builder();
  SmallVector<Value> symbols;
  for (Value symbol : op.getSymbols()) {
    Value value = kernel.find(symbol);
    if (isa<MemRefType>(value.getType()))
      value = b.load(value, {item.request.number});
    symbols.push_back(asIndex ? b.toIndex(value) : value);
  }
  return symbols;
}

Value host::emitRowValue(Kernel &kernel, Value table, const Item &item, Value q, int64_t lanes) {
  HostBuilder &b = kernel.builder();
  Value first = b.toI32(item.request.firstRow);
  if (isa<VectorType>(q.getType()))
    first = b.splat(first, lanes);
  return emitLookup(b, kernel.find(table), b.add(q, first), lanes);
}

VisitContext host::visitContext(Kernel &kernel, tile::MaskOp op, const Item &item, int64_t kvTile) {
  HostBuilder &b = kernel.builder();
  VisitContext context;
  context.qlo = item.qLow;
  context.qhi = item.qHigh;
  context.qLen = item.request.qLen;
  context.kvLen = item.request.kvLen;
  context.symbols = maskSymbols(kernel, op, item, /*asIndex=*/true);
  auto at = [&](Value table, Value row) {
    return b.toIndex(emitRowValue(kernel, table, item, b.toI32(row), 1));
  };
  for (Value table : op.getRowValues())
    context.rows.push_back({at(table, item.qLow), at(table, item.qHigh)});
  context.tileSize = kvTile;
  return context;
}
