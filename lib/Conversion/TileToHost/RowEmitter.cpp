//===- RowEmitter.cpp - rope, norm and maps on one row --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "ScalarRegions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

RowEmitter::RowEmitter(Kernel &kernel, int64_t dim)
    : kernel(kernel), b(kernel.builder()), dim(dim), rowBuffer(kernel.scratch({paddedTo16(dim)})) {}

void RowEmitter::load(Value source, const RowPlace &place, Region &region) {
  if (dim % kLanes)
    b.storeVector(b.splat(b.f32(0), kLanes), rowBuffer, {b.index(dim / kLanes * kLanes)});
  b.forVectors(dim, [&](Value offset, int64_t lanes) {
    b.storeVector(b.loadVector(source, {place.token, place.head, offset}, lanes), rowBuffer,
                  {offset});
  });
  for (Operation &op : region.front().without_terminator())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<tile::RopeOp, tile::RowMapOp>([&](auto typed) { emit(typed, place); })
        .Case([&](tile::RmsNormOp norm) { emit(norm); })
        .Default([&](Operation *other) { kernel.find(other->getResult(0)); });
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

Value host::ropePosition(Kernel &kernel, tile::RopeOp op, const RowPlace &place) {
  HostBuilder &b = kernel.builder();
  Value position = place.position;
  if (op.getPositions()) {
    Value given = b.load(kernel.find(op.getPositions()), {place.token});
    position = arith::IndexCastOp::create(b, b.getIndexType(), given);
  }
  return b.min(position, b.sub(b.dim(kernel.find(op.getCos()), 0), b.index(1)));
}

void RowEmitter::emit(tile::RopeOp op, const RowPlace &place) {
  Value position = ropePosition(kernel, op, place);
  Value valid = b.compare(arith::CmpIPredicate::sge, position, b.index(0));
  b.ifThen(valid, [&] { rotate(op, position); });
}

void RowEmitter::rotate(tile::RopeOp op, Value position) {
  Value cos = kernel.find(op.getCos()), sin = kernel.find(op.getSin());
  int64_t half = cast<MemRefType>(cos.getType()).getDimSize(1);
  bool split = op.getPairing() == attn::Pairing::HalfSplit;
  auto turn = [&](Value j, int64_t lanes) {
    Value a = split ? j : b.mul(j, 2);
    Value other = b.add(a, split ? half : 1);
    Value c = b.loadVector(cos, {position, j}, lanes), s = b.loadVector(sin, {position, j}, lanes);
    Value x = b.loadVector(rowBuffer, {a}, lanes), y = b.loadVector(rowBuffer, {other}, lanes);
    b.storeVector(b.fsub(b.fmul(x, c), b.fmul(y, s)), rowBuffer, {a});
    b.storeVector(b.fadd(b.fmul(y, c), b.fmul(x, s)), rowBuffer, {other});
  };
  if (split && half % kHalfLanes == 0)
    b.forVectors(half, turn);
  else
    b.loop(b.index(0), b.index(half), 1, [&](Value j) { turn(j, 1); });
}

//===----------------------------------------------------------------------===//
// Norm and maps
//===----------------------------------------------------------------------===//

Value host::rmsNormScale(HostBuilder &b, tile::RmsNormOp op, Value sum, int64_t dim) {
  Value mean = b.fmul(sum, b.f32(1.0 / dim));
  Value root = math::SqrtOp::create(b, b.fadd(mean, b.f32(op.getEps().convertToDouble())));
  return b.fdiv(b.f32(1), root);
}

void RowEmitter::emit(tile::RmsNormOp op) {
  int64_t padded = paddedTo16(dim); // zero beyond dim
  HostBuilder::Values squares =
      b.loop(b.index(0), b.index(padded), kLanes, b.splat(b.f32(0), kLanes),
             [&](Value offset, ValueRange sum) {
               Value x = b.loadVector(rowBuffer, {offset}, kLanes);
               return HostBuilder::Values{b.fma(x, x, sum[0])};
             });
  Value sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, squares[0]);
  Value scale = rmsNormScale(b, op, sum, dim), weight = kernel.find(op.getWeight());
  b.forVectors(dim, [&](Value offset, int64_t lanes) {
    Value x = b.fmul(b.loadVector(rowBuffer, {offset}, lanes), b.splat(scale, lanes));
    b.storeVector(b.fmul(x, b.loadVector(weight, {offset}, lanes)), rowBuffer, {offset});
  });
}

void RowEmitter::emit(tile::RowMapOp op, const RowPlace &place) {
  b.forVectors(dim, [&](Value offset, int64_t lanes) {
    LazyArgument arguments[] = {[&] { return b.loadVector(rowBuffer, {offset}, lanes); },
                                [&] { return b.toI32(place.token); },
                                [&] { return b.toI32(place.head); },
                                [&] { return iota(b, b.toI32(offset), lanes); }};
    b.storeVector(emitScalarRegion(kernel, op.getBody(), arguments, lanes), rowBuffer, {offset});
  });
}
