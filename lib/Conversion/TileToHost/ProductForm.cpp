//===- ProductForm.cpp - what both forms share ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductForm.h"
#include <limits>

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

std::unique_ptr<ProductForm> ProductForm::create(Kernel &kernel, tile::SpaceOp space) {
  if (space.getSchedule()->getKind() == tile::ScheduleKind::Outer)
    return createOuterForm(kernel, space);
  return createDotForm(kernel, space);
}

ProductForm::ProductForm(Kernel &kernel, tile::SpaceOp space, int64_t paddedRows)
    : qTile(space.getSchedule()->getQTile()), kvTile(space.getSchedule()->getKvTile()),
      kernel(kernel), b(kernel.builder()), space(space), kv(kernel, space.getKv()),
      group(space.getGroup()), kDim(kv.type.getKDim()), vDim(kv.type.getVDim()),
      paddedRows(paddedRows) {
  int64_t lanesOfRows = paddedTo16(paddedRows);
  max = kernel.scratch({lanesOfRows});
  sum = kernel.scratch({lanesOfRows});
  factor = kernel.scratch({lanesOfRows});
  acc = kernel.scratch({paddedRows, paddedTo16(vDim)});
  for (Value *facts : {&queryRow, &queryHead, &position, &token})
    *facts = kernel.scratch({lanesOfRows}, b.getI32Type());
}

void ProductForm::setRows(const Item &item) {
  current = item;
  Value last = b.sub(item.rows, b.index(1));
  Value shift = b.sub(item.request.kvLen, item.request.qLen), firstHead = b.mul(item.head, group);
  // Rows past the last repeat it: they are computed along, and never stored.
  b.loop(b.index(0), b.index(paddedTo16(paddedRows)), 1, [&](Value m) {
    Value packed = b.add(item.firstRow, b.min(m, last));
    Value row = b.divide(packed, group);
    auto put = [&](Value buffer, Value value) { b.store(b.toI32(value), buffer, {m}); };
    put(queryRow, row);
    put(queryHead, b.add(firstHead, b.remainder(packed, group)));
    put(position, b.add(row, shift));
    put(token, b.add(item.request.firstRow, row));
  });
}

void ProductForm::loadQuery(tile::LoadQOp op) {
  RowEmitter row(kernel, kDim);
  Value source = kernel.find(op.getQuery());
  Value scale = b.f32(op.getScale().convertToDouble());
  if (Value keyScale = kv.keyScale(current.head)) // a factor of every score
    scale = b.fmul(scale, keyScale);
  clearQuery();
  b.loop(b.index(0), current.rows, 1, [&](Value m) {
    auto fact = [&](Value buffer) { return b.toIndex(b.load(buffer, {m})); };
    row.load(source, {fact(token), fact(queryHead), fact(position)}, op.getBody());
    storeQueryRow(m, row.row(), scale);
  });
}

void ProductForm::scaleValues() {
  Value scale = kv.valueScale(current.head);
  if (!scale)
    return;
  b.loop(b.index(0), current.rows, 1, [&](Value m) {
    b.forVectors(vDim, [&](Value offset, int64_t lanes) {
      Value sum = b.loadVector(acc, {m, offset}, lanes);
      b.storeVector(b.fmul(sum, b.splat(scale, lanes)), acc, {m, offset});
    });
  });
}

void ProductForm::initState() {
  b.fill(max, -std::numeric_limits<double>::infinity());
  b.fill(sum, 0);
  b.fill(acc, 0);
}
