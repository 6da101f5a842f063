//===- StreamedBytes.cpp - keys and values of 8 bits ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and values become f16, which holds them exactly, and are multiplied as such. The scales of a
// KV head stay out of the products: that of K is a factor of the scores, that of V one of the
// result.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "StreamedFold.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

/// Of an f32: the exponent's bits; 2^127; 2^-126.
static constexpr int64_t kExponentBits = 0x7f800000, kGreatestPower = 0x7f000000,
                         kSmallestPower = 0x00800000;

static Value bitcast(HopperBuilder &b, Type type, Value value) {
  return arith::BitcastOp::create(b, type, value);
}

Value pagefold::hopper::narrowQueries(SpaceKernel &kernel, const StreamedSpace &space,
                                      const StreamedLanes &lanes, Value kvHead, Values &pairs) {
  HopperBuilder &b = kernel.builder();
  Values wide;
  Value greatest;
  for (Value pair : pairs) {
    wide.push_back(b.widenPair(pair, space.queryElement));
    Value size = math::AbsFOp::create(b, wide.back());
    greatest = greatest ? b.maxF(greatest, size) : size;
  }
  // The row's, in all four lanes that share it.
  Value own = b.maxF(b.element(greatest, 0), b.element(greatest, 1));
  own = b.element(b.quadReduce(ReduceKind::Max, b.vectorOf({own, own})), 0);
  Value exponent = b.both(bitcast(b, b.getI32Type(), own), b.i32(kExponentBits));
  Value power = b.max(b.sub(b.i32(kGreatestPower), exponent), b.i32(kSmallestPower));
  Value factor = bitcast(b, b.getF32Type(), power);
  for (auto [pair, values] : llvm::zip_equal(pairs, wide))
    pair = b.roundPair(b.mulF(values, factor), space.productElement());
  // Rows of the right block are columns of the result: lanes 4 c and on have loaded column c.
  Value inverse = b.sub(b.i32(kGreatestPower), power);
  tile::PagedOp paged = space.paged;
  Value scale = loadElement(kernel, paged.getKScale(), {kvHead});
  Values factors;
  for (int64_t j : {0, 1}) {
    Value from = b.mul(b.add(lanes.column, j), 4);
    factors.push_back(b.mulF(bitcast(b, b.getF32Type(), b.shuffle(inverse, from)), scale));
  }
  return b.vectorOf(factors);
}
