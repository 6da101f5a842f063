//===- LaneRow.cpp - a lane's part of a row -------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneRow.h"
#include "ScalarRegions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

LaneRow::LaneRow(SimtKernel &kernel, Value source, Value token, Value head, const RowShare &share,
                 Value lane)
    : kernel(kernel), b(kernel.builder()), share(share), lane(lane) {
  Value buffer = kernel.find(source);
  kernel.requireAligned(source, share.width);
  pieces.resize(typeOf(buffer).getDimSize(2) / share.width / share.lanes);
  for (auto [i, piece] : llvm::enumerate(pieces))
    piece = load(buffer, {token, head, offset(i, share.width)}, share.width);
}

/// Where the lane's piece starts, if pieces have so many elements.
Value LaneRow::offset(size_t piece, int64_t width) {
  return b.add(b.mul(lane, width), static_cast<int64_t>(piece) * share.lanes * width);
}

Value LaneRow::load(Value buffer, ValueRange indices, int64_t elements) {
  return b.loadVector(buffer, indices, elements, SimtKernel::alignment(buffer, elements));
}

void LaneRow::store(Value target, ValueRange where, Value scale) {
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    HostBuilder::Values indices(where);
    indices.push_back(offset(i, share.width));
    Value x = scale ? b.fdiv(piece, b.splat(scale, share.width)) : piece;
    b.storeVector(x, target, indices, SimtKernel::alignment(target, share.width));
  }
}

void LaneRow::apply(Region &body, const RowPlace &place) {
  for (Operation &op : body.front().without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<tile::RopeOp, tile::RowMapOp>([&](auto typed) { apply(typed, place); })
        .Case([&](tile::RmsNormOp norm) { apply(norm); })
        .Default([&](Operation *other) { kernel.find(other->getResult(0)); });
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

void LaneRow::apply(tile::RopeOp op, const RowPlace &place) {
  Value position = ropePosition(kernel, op, place);
  Value valid = b.compare(arith::CmpIPredicate::sge, position, b.index(0));
  pieces = b.ifThenElse(valid, pieces, [&] { return turned(op, position); });
}

HostBuilder::Values LaneRow::turned(tile::RopeOp op, Value position) {
  bool split = op.getPairing() == attn::Pairing::HalfSplit;
  for (Value table : {op.getCos(), op.getSin()})
    kernel.requireAligned(table, split ? share.width : share.width / 2);
  return split ? halvesTurned(op, position) : neighboursTurned(op, position);
}

/// Element j turns with element j + half: pieces that are a whole number of rounds of lanes apart.
HostBuilder::Values LaneRow::halvesTurned(tile::RopeOp op, Value position) {
  Value cos = kernel.find(op.getCos()), sin = kernel.find(op.getSin());
  HostBuilder::Values after = pieces;
  size_t half = typeOf(cos).getDimSize(1) / share.width / share.lanes;
  for (size_t i = 0; i < half; ++i) {
    Value j = offset(i, share.width);
    Value c = load(cos, {position, j}, share.width), s = load(sin, {position, j}, share.width);
    Value x = pieces[i], y = pieces[i + half];
    after[i] = b.fsub(b.fmul(x, c), b.fmul(y, s));
    after[i + half] = b.fadd(b.fmul(y, c), b.fmul(x, s));
  }
  return after;
}

/// Element 2j turns with element 2j + 1: within a piece.
HostBuilder::Values LaneRow::neighboursTurned(tile::RopeOp op, Value position) {
  Value cos = kernel.find(op.getCos()), sin = kernel.find(op.getSin());
  HostBuilder::Values after = pieces;
  int64_t pairs = share.width / 2;
  size_t turning = typeOf(cos).getDimSize(1) / pairs / share.lanes;
  for (size_t i = 0; i < turning; ++i) {
    Value j = offset(i, pairs);
    Value c = load(cos, {position, j}, pairs), s = load(sin, {position, j}, pairs);
    auto halves = vector::DeinterleaveOp::create(b, pieces[i]);
    Value x = halves.getRes1(), y = halves.getRes2();
    after[i] = vector::InterleaveOp::create(b, b.fsub(b.fmul(x, c), b.fmul(y, s)),
                                            b.fadd(b.fmul(y, c), b.fmul(x, s)));
  }
  return after;
}

//===----------------------------------------------------------------------===//
// Norm and maps
//===----------------------------------------------------------------------===//

void LaneRow::apply(tile::RmsNormOp op) {
  Value squares = b.like(0, pieces.front());
  for (Value piece : pieces)
    squares = b.fma(piece, piece, squares);
  Value own = vector::ReductionOp::create(b, vector::CombiningKind::ADD, squares);
  Value sum = kernel.sumOfLanes(own, share.lanes);
  auto dim = static_cast<int64_t>(pieces.size()) * share.width * share.lanes;
  Value scale = b.splat(rmsNormScale(b, op, sum, dim), share.width);
  Value weight = kernel.find(op.getWeight());
  kernel.requireAligned(op.getWeight(), share.width);
  for (auto [i, piece] : llvm::enumerate(pieces))
    piece = b.fmul(b.fmul(piece, scale), load(weight, {offset(i, share.width)}, share.width));
}

void LaneRow::apply(tile::RowMapOp op, const RowPlace &place) {
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    Value x = piece;
    LazyArgument arguments[] = {
        [&] { return x; }, [&] { return b.toI32(place.token); },
        [&] { return b.toI32(place.head); },
        [&, i = i] { return iota(b, b.toI32(offset(i, share.width)), share.width); }};
    piece = emitScalarRegion(kernel, op.getBody(), arguments, share.width);
  }
}
