//===- ScalarRegions.cpp - regions over scalars, on vectors ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

static Value onLanes(HostBuilder &b, Value value, int64_t lanes) {
  return isVector(value) ? value : b.splat(value, lanes);
}

Value host::iota(HostBuilder &b, Value first, int64_t lanes) {
  auto steps = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value step = arith::ConstantOp::create(b, b.getI32VectorAttr(steps));
  return b.add(b.splat(first, lanes), step);
}

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

/// An index brought into [0, extent), as i32.
static Value clampIndex(HostBuilder &b, Value index, Value extent, int64_t lanes) {
  Value last = b.sub(b.toI32(extent), b.i32(1)), zero = b.i32(0);
  if (isVector(index)) {
    last = b.splat(last, lanes);
    zero = b.splat(zero, lanes);
  }
  return b.max(b.min(index, last), zero);
}

/// The element offset of every lane from the table's first element, as i64.
static Value laneOffsets(HostBuilder &b, Value table, ValueRange indices, int64_t lanes) {
  auto type = cast<MemRefType>(table.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(b, table);
  VectorType wide = b.vectorType(lanes, b.getI64Type());
  Value offset;
  for (auto [i, index] : llvm::enumerate(indices)) {
    Value lane = arith::ExtSIOp::create(b, wide, onLanes(b, index, lanes));
    Value stride = arith::IndexCastOp::create(b, b.getI64Type(), metadata.getStrides()[i]);
    Value part =
        static_cast<int64_t>(i) + 1 == type.getRank() ? lane : b.mul(lane, b.splat(stride, lanes));
    offset = offset ? b.add(offset, part) : part;
  }
  return offset;
}

/// f32 and i32 pass; narrower ones widen.
static Value widenElement(HostBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type wide = isa<FloatType>(element) ? Type(b.getF32Type()) : Type(b.getI32Type());
  if (element == wide)
    return value;
  Type type = isVector(value) ? Type(cast<VectorType>(value.getType()).clone(wide)) : wide;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(b, type, value);
  return arith::ExtSIOp::create(b, type, value);
}

Value host::emitLookup(HostBuilder &b, Value table, ValueRange indices, int64_t lanes) {
  HostBuilder::Values clamped;
  for (auto [i, index] : llvm::enumerate(indices))
    clamped.push_back(clampIndex(b, index, b.dim(table, i), lanes));
  if (llvm::none_of(clamped, isVector)) {
    HostBuilder::Values scalars;
    for (Value index : clamped)
      scalars.push_back(b.toIndex(index));
    return widenElement(b, b.load(table, scalars));
  }
  auto type = cast<MemRefType>(table.getType());
  Value offsets = laneOffsets(b, table, clamped, lanes);
  HostBuilder::Values origin(type.getRank(), b.index(0));
  VectorType result = b.vectorType(lanes, type.getElementType());
  Value all = arith::ConstantOp::create(
      b, DenseElementsAttr::get(b.vectorType(lanes, b.getI1Type()), true));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(result));
  Value read = vector::GatherOp::create(b, result, table, origin, offsets, all, zero);
  return widenElement(b, read);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Clones a scalar op, with every operand and result on vectors if one operand is.
static void emitElementwise(HostBuilder &b, Operation &op, DenseMap<Value, Value> &values,
                            llvm::function_ref<Value(Value)> get, int64_t lanes) {
  HostBuilder::Values operands(llvm::map_range(op.getOperands(), get));
  bool vector = llvm::any_of(operands, isVector);
  SmallVector<Type> types(op.getResultTypes());
  if (vector) {
    for (Value &operand : operands)
      operand = onLanes(b, operand, lanes);
    for (Type &type : types)
      type = b.vectorType(lanes, type);
  }
  OperationState state(b.getLoc(), op.getName(), operands, types, op.getAttrs());
  Operation *created = b.create(state);
  for (auto [from, to] : llvm::zip(op.getResults(), created->getResults()))
    values[from] = to;
}

Value host::emitScalarRegion(Kernel &kernel, Region &region, ArrayRef<LazyArgument> arguments,
                             int64_t lanes) {
  HostBuilder &b = kernel.builder();
  Block &block = region.front();
  DenseMap<Value, Value> values;
  auto get = [&](Value value) {
    if (Value known = values.lookup(value))
      return known;
    if (auto arg = dyn_cast<BlockArgument>(value); arg && arg.getOwner() == &block)
      return values[value] = arguments[arg.getArgNumber()]();
    return values[value] = kernel.find(value);
  };
  for (Operation &op : block.without_terminator()) {
    auto lookup = dyn_cast<tile::LookupOp>(op);
    if (!lookup) {
      emitElementwise(b, op, values, get, lanes);
      continue;
    }
    HostBuilder::Values indices(llvm::map_range(lookup.getIndices(), get));
    values[lookup.getResult()] = emitLookup(b, kernel.find(lookup.getTable()), indices, lanes);
  }
  return onLanes(b, get(cast<tile::YieldOp>(block.getTerminator()).getValue()), lanes);
}
