//===- RowPairs.cpp - rows of tokens as pairs that lanes hold -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPairs.h"
#include "Elements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

static constexpr int64_t kFloatPairBytes = 8;

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

RowPairs::RowPairs(SpaceKernel &kernel, const PairLayout &layout, Value buffer, Value start,
                   Value exists, Region *body, const RowPlace &place)
    : kernel(kernel), b(kernel.builder()), layout(layout), element(typeOf(buffer).getElementType()),
      dim(typeOf(buffer).getShape().back()), exists(exists), body(body), place(place) {
  Value pointer = kernel.vectorPointer(buffer, kPairBytes);
  Value own = b.add(start, b.widen(layout.first));
  for (int64_t offset : layout.offsets)
    words.push_back(offset < dim ? b.loadPair(pointer, b.add(own, b.i64(offset)), exists)
                                 : b.i32(0));
  if (!body)
    return;
  for (auto rope : body->getOps<tile::RopeOp>())
    factors[rope] = load(rope);
  for (auto norm : body->getOps<tile::RmsNormOp>())
    factors[norm] = load(norm);
}

Values &RowPairs::wide() {
  if (values.empty())
    for (Value word : words)
      values.push_back(b.widenPair(word, element));
  return values;
}

Values RowPairs::round(Type to) {
  if (values.empty() && to == element)
    return words;
  Values rounded;
  for (Value pair : wide())
    rounded.push_back(b.roundPair(pair, to));
  return rounded;
}

void RowPairs::divideBy(Value scale) {
  for (Value &pair : wide())
    pair = arith::DivFOp::create(b, pair, b.vectorOf({scale, scale}));
}

void RowPairs::apply() {
  if (!body)
    return;
  for (Operation &op : body->front().without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<tile::RopeOp, tile::RmsNormOp>([&](auto typed) { apply(typed, factors.at(typed)); })
        .Case([&](tile::RowMapOp map) { apply(map); });
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

/// Negative: the row has none, and stays as it is. Behind the tables' end it is their last.
Value RowPairs::positionOf(tile::RopeOp op) {
  Value last = kernel.extent(op.getCos(), 0, -1), given = op.getPositions();
  if (!given)
    return b.min(place.position, last);
  Type type = typeOf(given).getElementType();
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value index = b.mul(b.widen(place.token), kernel.stride(given, 0));
  Value position = LoadOp::create(b, type, kernel.pointer(given), index, exists, none);
  if (!type.isInteger(64))
    return b.min(position, last);
  // Below zero all are alike.
  return b.narrow(b.max(b.min(position, b.widen(last)), b.i64(-1)));
}

RowPairs::Factors RowPairs::load(tile::RopeOp op) {
  bool split = op.getPairing() == attn::Pairing::HalfSplit;
  Value position = positionOf(op), reads = b.both(b.atLeast(position, b.i32(0)), exists);
  int64_t half = typeOf(op.getCos()).getDimSize(1), turning = split ? half : 2 * half;
  Value column = b.widen(split ? layout.first : b.divide(layout.first, 2));
  // What is not read turns by nothing.
  auto loadOf = [&](Value table, double none) {
    Value own = b.add(b.mul(b.widen(position), kernel.stride(table, 0)), column);
    Value pointer = split ? kernel.vectorPointer(table, kFloatPairBytes) : kernel.pointer(table);
    Values loaded;
    for (int64_t offset : layout.offsets) {
      if (offset >= turning)
        loaded.push_back({});
      else if (split)
        loaded.push_back(b.loadPair(pointer, b.add(own, b.i64(offset)), reads, none));
      else
        loaded.push_back(LoadOp::create(b, b.getF32Type(), pointer, b.add(own, b.i64(offset / 2)),
                                        reads, b.f32(none)));
    }
    return loaded;
  };
  return {loadOf(op.getCos(), 1), loadOf(op.getSin(), 0)};
}

/// Element j turns with element j + half, of another pair of the lane; or element 2 j with element
/// 2 j + 1, its neighbour.
void RowPairs::apply(tile::RopeOp op, const Factors &angles) {
  auto turn = [&](Value &x, Value &y, Value c, Value s) {
    Value turned = b.subF(b.mulF(x, c), b.mulF(y, s));
    y = b.addF(b.mulF(y, c), b.mulF(x, s));
    x = turned;
  };
  int64_t half = typeOf(op.getCos()).getDimSize(1);
  for (auto [i, offset] : llvm::enumerate(layout.offsets)) {
    Value c = angles.first[i], s = angles.second[i];
    if (!c)
      continue;
    if (op.getPairing() == attn::Pairing::HalfSplit) {
      size_t other = llvm::find(layout.offsets, offset + half) - layout.offsets.begin();
      turn(wide()[i], wide()[other], c, s);
      continue;
    }
    Value x = b.element(wide()[i], 0), y = b.element(wide()[i], 1);
    turn(x, y, c, s);
    wide()[i] = b.vectorOf({x, y});
  }
}

//===----------------------------------------------------------------------===//
// Norm and maps
//===----------------------------------------------------------------------===//

Value RowPairs::sumOfLanes(Value own) {
  auto cast = [&](Type type, Value value) {
    return arith::BitcastOp::create(b, type, value).getResult();
  };
  for (int64_t distance = 1; distance < layout.lanes; distance *= 2) {
    Value from = arith::XOrIOp::create(b, b.lane(), b.i32(distance));
    Value other = b.shuffle(cast(b.getI32Type(), own), from);
    own = b.addF(own, cast(b.getF32Type(), other));
  }
  return own;
}

RowPairs::Factors RowPairs::load(tile::RmsNormOp op) {
  Value weight = op.getWeight();
  Type type = typeOf(weight).getElementType();
  Value pointer = kernel.vectorPointer(weight, type.isF32() ? kFloatPairBytes : kPairBytes);
  Values loaded;
  for (int64_t offset : layout.offsets)
    loaded.push_back(offset < dim ? b.loadPair(pointer, b.add(layout.first, offset), exists)
                                  : Value());
  return {loaded, {}};
}

void RowPairs::apply(tile::RmsNormOp op, const Factors &weights) {
  Value squares = b.rows(0);
  for (Value pair : wide())
    squares = b.fma(pair, pair, squares);
  Value sum = sumOfLanes(b.addF(b.element(squares, 0), b.element(squares, 1)));
  Value mean = b.mulF(sum, b.f32(1.0 / dim));
  Value root = math::SqrtOp::create(b, b.addF(mean, b.f32(op.getEps().convertToDouble())));
  Value scale = arith::DivFOp::create(b, b.f32(1), root);
  Type type = typeOf(op.getWeight()).getElementType();
  for (auto [pair, loaded] : llvm::zip_equal(wide(), weights.first)) {
    if (!loaded)
      continue;
    Value factor = type.isF32() ? loaded : b.widenPair(loaded, type);
    pair = b.mulF(b.mulF(pair, b.vectorOf({scale, scale})), factor);
  }
}

void RowPairs::apply(tile::RowMapOp op) {
  for (auto [i, offset] : llvm::enumerate(layout.offsets)) {
    if (offset >= dim)
      continue;
    Values mapped;
    for (int64_t j : {0, 1})
      mapped.push_back(emitRegion(
          kernel, op.getBody(),
          {b.element(wide()[i], j), place.token, place.head, b.add(layout.first, offset + j)}));
    wide()[i] = b.vectorOf(mapped);
  }
}
