//===- Elements.cpp - scalar regions on fragments -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

Value pagefold::hopper::mapElements(HopperBuilder &b, Value fragment, ValueRange rows,
                                    llvm::function_ref<Value(Value, ValueRange, Value)> element) {
  auto op = MapOp::create(b, fragment.getType(), fragment, rows);
  OpBuilder::InsertionGuard guard(b);
  Block *block = op.getBody().empty() ? &op.getBody().emplaceBlock() : &op.getBody().front();
  block->clear();
  Value value = block->addArgument(b.getF32Type(), b.getLoc());
  for (Value row : rows)
    block->addArgument(getElementTypeOrSelf(row.getType()), b.getLoc());
  Value column = block->addArgument(b.getI32Type(), b.getLoc());
  b.setInsertionPointToStart(block);
  ValueRange all = block->getArguments();
  YieldOp::create(b, element(value, all.drop_front().drop_back(), column));
  return op.getResult();
}

Value pagefold::hopper::loadElement(SpaceKernel &kernel, Value buffer, ValueRange indices,
                                    Value valid) {
  HopperBuilder &b = kernel.builder();
  auto type = cast<MemRefType>(buffer.getType());
  Value offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value last = kernel.extent(buffer, dim, -1);
    Value clamped = b.max(b.min(index, last), b.i32(0));
    bool innermost = static_cast<int64_t>(dim) + 1 == type.getRank();
    // The innermost stride of a buffer of rank 1 may be any; of others it is 1.
    Value part = b.widen(clamped);
    if (!innermost || type.getRank() == 1)
      part = b.mul(part, kernel.stride(buffer, dim));
    offset = offset ? b.add(offset, part) : part;
  }
  Type element = type.getElementType();
  Value none = valid ? arith::ConstantOp::create(b, b.getZeroAttr(element)).getResult() : Value();
  Value loaded = LoadOp::create(b, element, kernel.pointer(buffer), offset, valid, none);
  if (isa<FloatType>(element))
    return element.isF32() ? loaded : arith::ExtFOp::create(b, b.getF32Type(), loaded).getResult();
  return element.isInteger(32) ? loaded
                               : arith::ExtSIOp::create(b, b.getI32Type(), loaded).getResult();
}

Value pagefold::hopper::loadOfRows(SpaceKernel &kernel, Value buffer, Value index, Value valid) {
  if (!isa<VectorType>(index.getType()))
    return loadElement(kernel, buffer, {index}, valid);
  HopperBuilder &b = kernel.builder();
  Values both;
  for (int64_t i : {0, 1})
    both.push_back(loadElement(kernel, buffer, {b.element(index, i)}, valid));
  return b.vectorOf(both);
}

Value pagefold::hopper::emitRegion(SpaceKernel &kernel, Region &region, ValueRange arguments) {
  HopperBuilder &b = kernel.builder();
  Block &block = region.front();
  IRMapping values;
  values.map(block.getArguments(), arguments);
  auto get = [&](Value value) {
    if (!values.contains(value))
      values.map(value, kernel.scalar(value));
    return values.lookup(value);
  };
  for (Operation &op : block.without_terminator()) {
    if (auto lookup = dyn_cast<tile::LookupOp>(op)) {
      Values indices(llvm::map_range(lookup.getIndices(), get));
      values.map(lookup.getResult(), loadElement(kernel, lookup.getTable(), indices));
      continue;
    }
    for (Value operand : op.getOperands())
      get(operand);
    b.clone(op, values);
  }
  return get(cast<tile::YieldOp>(block.getTerminator()).getValue());
}
