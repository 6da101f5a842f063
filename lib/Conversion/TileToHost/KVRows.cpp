//===- KVRows.cpp - where the rows of keys and values lie -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KVRows.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

KVRows::KVRows(Kernel &kernel, Value kv)
    : type(cast<tile::KVType>(kv.getType())), b(kernel.builder()) {
  if (auto paged = kv.getDefiningOp<tile::PagedOp>()) {
    keyBuffer = kernel.find(paged.getKPages());
    valueBuffer = kernel.find(paged.getVPages());
    table = kernel.find(paged.getTable());
    auto optional = [&](Value buffer) { return buffer ? kernel.find(buffer) : Value(); };
    starts = optional(paged.getStarts());
    keyScales = optional(paged.getKScale());
    valueScales = optional(paged.getVScale());
    return;
  }
  auto dense = kv.getDefiningOp<tile::DenseOp>();
  keyBuffer = kernel.find(dense.getKey());
  valueBuffer = kernel.find(dense.getValue());
  rows = kernel.find(dense.getRows());
}

Value KVRows::pageOf(Value request, Value column) {
  if (!starts)
    return b.toIndex(b.load(table, {request, column}));
  return b.toIndex(b.load(table, {b.add(b.toIndex(b.load(starts, {request})), column)}));
}

Value KVRows::poolSize() { return b.min(b.dim(keyBuffer, 0), b.dim(valueBuffer, 0)); }

HostBuilder::Values KVRows::locate(Value request, Value key, Value head) {
  if (!type.isPaged())
    return {b.add(b.toIndex(b.load(rows, {request})), key), head};
  Value page = pageOf(request, b.divide(key, type.getPageSize()));
  return {page, b.remainder(key, type.getPageSize()), head};
}

Value KVRows::keyScale(Value head) { return keyScales ? b.load(keyScales, {head}) : Value(); }
Value KVRows::valueScale(Value head) { return valueScales ? b.load(valueScales, {head}) : Value(); }

Value host::kvLength(Kernel &kernel, Value kv, Value request) {
  HostBuilder &b = kernel.builder();
  if (auto paged = kv.getDefiningOp<tile::PagedOp>())
    return b.toIndex(b.load(kernel.find(paged.getLens()), {request}));
  Value rows = kernel.find(kv.getDefiningOp<tile::DenseOp>().getRows());
  return b.sub(b.toIndex(b.load(rows, {b.add(request, 1)})), b.toIndex(b.load(rows, {request})));
}
