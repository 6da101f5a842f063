//===- HostBuilder.cpp - building vector and loop code --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace pagefold::host;
using Values = HostBuilder::Values;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value HostBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
Value HostBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(*this, getI32Type(), value);
}
Value HostBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(static_cast<float>(value)));
}

/// A constant of the type of `shape`: index, integer, or a vector of them.
static Value integerLike(HostBuilder &b, int64_t value, Value shape) {
  return arith::ConstantOp::create(b, [&]() -> TypedAttr {
    if (auto vector = dyn_cast<VectorType>(shape.getType()))
      return DenseElementsAttr::get(vector, b.getIntegerAttr(vector.getElementType(), value));
    return b.getIntegerAttr(shape.getType(), value);
  }());
}

Value HostBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value HostBuilder::add(Value a, int64_t b) { return b ? add(a, integerLike(*this, b, a)) : a; }
Value HostBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value HostBuilder::mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
Value HostBuilder::mul(Value a, int64_t b) { return b == 1 ? a : mul(a, integerLike(*this, b, a)); }
// Unsigned division: operands are never negative here, and a power of two becomes a shift.
Value HostBuilder::divide(Value a, int64_t b) {
  return b == 1 ? a : divide(a, integerLike(*this, b, a));
}
Value HostBuilder::remainder(Value a, int64_t b) { return remainder(a, integerLike(*this, b, a)); }
Value HostBuilder::divide(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
Value HostBuilder::remainder(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
Value HostBuilder::ceilDivide(Value a, int64_t b) { return divide(add(a, b - 1), b); }
Value HostBuilder::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value HostBuilder::max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }
Value HostBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return createOrFold<arith::CmpIOp>(predicate, a, b);
}
Value HostBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}
Value HostBuilder::toIndex(Value value) {
  return createOrFold<arith::IndexCastOp>(getIndexType(), value);
}
Value HostBuilder::toI32(Value value) {
  return createOrFold<arith::IndexCastOp>(getI32Type(), value);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void HostBuilder::loop(Value lower, Value upper, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  loop(lower, upper, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return Values{};
  });
}

Values HostBuilder::loop(Value lower, Value upper, int64_t step, ValueRange init,
                         llvm::function_ref<Values(Value, ValueRange)> body) {
  return loop(lower, upper, index(step), init, body);
}

Values HostBuilder::loop(Value lower, Value upper, Value step, ValueRange init,
                         llvm::function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, lower, upper, step, init);
  InsertionGuard guard(*this);
  Block *block = loop.getBody();
  if (init.empty()) { // the builder has put a terminator already
    setInsertionPoint(block->getTerminator());
    body(loop.getInductionVar(), {});
  } else {
    setInsertionPointToEnd(block);
    Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    scf::YieldOp::create(*this, next);
  }
  return Values(loop.getResults());
}

void HostBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

void HostBuilder::ifThenElse(Value condition, llvm::function_ref<void()> yes,
                             llvm::function_ref<void()> no) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPoint(branch.thenBlock()->getTerminator());
  yes();
  setInsertionPoint(branch.elseBlock()->getTerminator());
  no();
}

Values HostBuilder::ifThenElse(Value condition, ValueRange others,
                               llvm::function_ref<Values()> yes) {
  auto branch = scf::IfOp::create(*this, others.getTypes(), condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, yes());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, others);
  return Values(branch.getResults());
}

void HostBuilder::forVectors(int64_t extent, llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = extent / kLanes * kLanes;
  if (whole <= unrolledVectors * kLanes)
    for (int64_t offset = 0; offset < whole; offset += kLanes)
      body(index(offset), kLanes);
  else
    loop(index(0), index(whole), kLanes, [&](Value offset) { body(offset, kLanes); });
  if (whole < extent)
    body(index(whole), extent - whole);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

VectorType HostBuilder::vectorType(int64_t lanes, Type element) {
  return VectorType::get({lanes}, element ? element : getF32Type());
}

static Type elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

Value HostBuilder::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(*this, memref, indices);
}

/// A float, or a vector of floats, as f32.
static Value widen(HostBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF32())
    return value;
  Type wide = b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    wide = vector.clone(wide);
  if (element.isF64())
    return arith::TruncFOp::create(b, wide, value);
  return arith::ExtFOp::create(b, wide, value);
}

/// `x` within +-limit; NaN stays.
static Value saturate(HostBuilder &b, Value x, double limit) {
  auto clamp = [&](arith::CmpFPredicate beyond, double bound) {
    return b.select(b.fcompare(beyond, x, b.like(bound, x)), b.like(bound, x), x);
  };
  x = clamp(arith::CmpFPredicate::OGT, limit);
  return clamp(arith::CmpFPredicate::OLT, -limit);
}

/// f32 as what a buffer holds. f8E4M3FN, which has no infinities, saturates.
static Value narrow(HostBuilder &b, Value value, Type element) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  if (auto f8 = dyn_cast<Float8E4M3FNType>(element))
    value = saturate(b, value, APFloat::getLargest(f8.getFloatSemantics()).convertToDouble());
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(b, type, value);
}

Value HostBuilder::loadF32(Value memref, ValueRange indices) {
  return widen(*this, load(memref, indices));
}

Value HostBuilder::loadVector(Value memref, ValueRange indices, int64_t lanes, int64_t alignment) {
  return widen(*this,
               vector::LoadOp::create(*this, vectorType(lanes, elementOf(memref)), memref, indices,
                                      /*nontemporal=*/false, llvm::MaybeAlign(alignment)));
}

Value HostBuilder::loadInts(Value memref, ValueRange indices, int64_t lanes) {
  return vector::LoadOp::create(*this, vectorType(lanes, elementOf(memref)), memref, indices);
}

void HostBuilder::store(Value value, Value memref, ValueRange indices) {
  if (isa<FloatType>(value.getType()))
    value = narrow(*this, value, elementOf(memref));
  memref::StoreOp::create(*this, value, memref, indices);
}

void HostBuilder::storeVector(Value vector, Value memref, ValueRange indices, int64_t alignment) {
  if (isa<FloatType>(getElementTypeOrSelf(vector.getType())))
    vector = narrow(*this, vector, elementOf(memref));
  vector::StoreOp::create(*this, vector, memref, indices, /*nontemporal=*/false,
                          llvm::MaybeAlign(alignment));
}

void HostBuilder::fill(Value memref, double value) {
  auto type = cast<MemRefType>(memref.getType());
  Value vector = splat(f32(value), kLanes);
  Values indices;
  std::function<void(int64_t)> nest = [&](int64_t dim) {
    bool last = dim + 1 == type.getRank();
    loop(index(0), index(type.getDimSize(dim)), last ? kLanes : 1, [&](Value i) {
      indices.push_back(i);
      if (last)
        storeVector(vector, memref, indices);
      else
        nest(dim + 1);
      indices.pop_back();
    });
  };
  nest(0);
}

Value HostBuilder::dim(Value memref, int64_t dim) {
  return createOrFold<memref::DimOp>(memref, dim);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value HostBuilder::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, vectorType(lanes, scalar.getType()), scalar);
}

Value HostBuilder::like(double value, Value shape) {
  if (auto vector = dyn_cast<VectorType>(shape.getType()))
    return arith::ConstantOp::create(
        *this, DenseElementsAttr::get(vector, getF32FloatAttr(static_cast<float>(value))));
  return f32(value);
}

Value HostBuilder::fadd(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
Value HostBuilder::fsub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
Value HostBuilder::fmul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
Value HostBuilder::fdiv(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
Value HostBuilder::fma(Value a, Value b, Value c) { return math::FmaOp::create(*this, a, b, c); }
Value HostBuilder::fmax(Value a, Value b) { return arith::MaximumFOp::create(*this, a, b); }
Value HostBuilder::fcompare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}

/// The type of `type` with i32 elements.
static Type asInts(Type type, OpBuilder &b) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(b.getI32Type());
  return b.getI32Type();
}

// exp(x) = 2^n 2^f with x log2(e) = n + f, |f| <= 1/2. Adding 1.5 * 2^23 rounds to the integer n
// and leaves it in the low bits; 2^f is a degree 6 polynomial (Chebyshev fit, 8e-8), 2^n is added
// to the exponent.
Value HostBuilder::exp(Value x) {
  static constexpr double kPolynomial[] = {
      0.0001546973198152048, 0.0013400432165829137, 0.009618025602947586, 0.05550327214207754,
      0.24022651213595086,   0.6931472067106216,    0.9999999999595485};
  static constexpr double kLog2E = 1.4426950408889634, kRound = 12582912.0;
  Value log2e = like(kLog2E, x), round = like(kRound, x);
  Value clamped = arith::MaxNumFOp::create(*this, x, like(-87.33654, x));
  Value shifted = fma(clamped, log2e, round);
  Value f = fma(clamped, log2e, fsub(round, shifted)); // one rounding: x log2(e) - n
  Value y = like(kPolynomial[0], x);
  for (double coefficient : llvm::drop_begin(kPolynomial))
    y = fma(y, f, like(coefficient, x));
  Type ints = asInts(x.getType(), *this);
  Value n = arith::BitcastOp::create(*this, ints, shifted);
  Value exponent = arith::ShLIOp::create(*this, n, integerLike(*this, 23, n));
  Value bits = add(arith::BitcastOp::create(*this, ints, y), exponent);
  Value result = arith::BitcastOp::create(*this, x.getType(), bits);
  Value tiny = fcompare(arith::CmpFPredicate::OLT, x, like(-87.33654, x));
  return select(tiny, like(0.0, x), result);
}

Value HostBuilder::finiteMax(Value m) {
  Value nothing = like(-std::numeric_limits<double>::infinity(), m);
  return select(fcompare(arith::CmpFPredicate::OEQ, m, nothing), like(0.0, m), m);
}
