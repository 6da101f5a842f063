//===- MaskEmitter.cpp - which keys a row sees ----------------------------===//
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

MaskEmitter::MaskEmitter(Kernel &kernel, tile::MaskOp op, const Item &item)
    : kernel(kernel), b(kernel.builder()), op(op), item(item) {}

Value MaskEmitter::visible(Value q, Value k, int64_t lanes) {
  VisitContext context;
  context.qLen = b.toI32(item.request.qLen);
  context.kvLen = b.toI32(item.request.kvLen);
  context.symbols = maskSymbols(kernel, op, item, /*asIndex=*/false);
  MaskPoint point{q, k, {}};
  for (Value table : op.getRowValues())
    point.rows.push_back(emitRowValue(kernel, table, item, q, lanes));
  Value seen = emitVisible(b, b.getLoc(), op.getSets().getMaskSets(), point, context);
  if (!isa<VectorType>(seen.getType()))
    seen = b.splat(seen, lanes);
  if (op.getBitmap())
    seen = arith::AndIOp::create(b, seen, bit(q, k, lanes));
  return seen;
}

/// Bit starts[r] + q kv_len + k of the bitmap, least significant first; 0 past its end.
Value MaskEmitter::bit(Value q, Value k, int64_t lanes) {
  Value bytes = kernel.find(op.getBitmap());
  Type i64 = b.getI64Type();
  VectorType wide = b.vectorType(lanes, i64);
  auto lane = [&](Value value) {
    Value vector = isa<VectorType>(value.getType()) ? value : b.splat(value, lanes);
    return Value(arith::ExtSIOp::create(b, wide, vector));
  };
  auto scalar = [&](Value value) {
    return b.splat(arith::IndexCastOp::create(b, i64, value), lanes);
  };
  Value start = b.splat(b.load(kernel.find(op.getBitmapStarts()), {item.request.number}), lanes);
  Value index = b.add(start, b.add(b.mul(lane(q), scalar(item.request.kvLen)), lane(k)));
  auto constant = [&](int64_t value) {
    return Value(
        arith::ConstantOp::create(b, DenseElementsAttr::get(wide, b.getI64IntegerAttr(value))));
  };
  Value byte = arith::ShRSIOp::create(b, index, constant(3));
  Value inside =
      arith::AndIOp::create(b, b.compare(arith::CmpIPredicate::sge, byte, constant(0)),
                            b.compare(arith::CmpIPredicate::slt, byte, scalar(b.dim(bytes, 0))));
  VectorType read = b.vectorType(lanes, b.getI8Type());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(read));
  Value loaded =
      vector::GatherOp::create(b, read, bytes, ValueRange{b.index(0)}, byte, inside, zero);
  Value shift = arith::TruncIOp::create(b, read, arith::AndIOp::create(b, index, constant(7)));
  Value shifted = arith::ShRUIOp::create(b, loaded, shift);
  return arith::TruncIOp::create(b, b.vectorType(lanes, b.getI1Type()), shifted);
}
