//===- HostKernel.cpp - a kernel whose workers are host threads -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

static SmallVector<Type> parameters(MLIRContext *context) {
  auto bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 8));
  return {bytes, MemRefType::get({1}, IntegerType::get(context, 64))};
}

static OpBuilder::InsertPoint before(Operation *op) { return {op->getBlock(), op->getIterator()}; }

HostKernel::HostKernel(func::FuncOp function, StringRef name, WorkspaceLayout &layout,
                       bool counters, Location loc)
    : Kernel(function, before(function), name, layout, counters, loc,
             parameters(function.getContext())) {}

Value HostKernel::scratch(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  auto type = MemRefType::get(shape, element ? element : b.getF32Type());
  Value offset = b.index(scratchNext);
  scratchNext += llvm::alignTo(type.getNumElements() * type.getElementTypeBitWidth() / 8, 64);
  return memref::ViewOp::create(b, type, parameter(0), offset, ValueRange());
}

Value HostKernel::extents(Value batch) {
  if (Value known = found.lookup(batch))
    return known;
  auto type = MemRefType::get({layout.getBounds().getBatch(), 4}, b.getI32Type());
  return found[batch] = workspaceView(layout.extentsOf(batch), type, {});
}

Request HostKernel::readRequest(Value batch, Value number) {
  Value table = extents(batch);
  auto read = [&](int64_t column) { return b.toIndex(b.load(table, {number, b.index(column)})); };
  return {number, read(0), read(1), read(2)};
}

llvm::ArrayRef<tile::ScheduleKind> HostKernel::forms() {
  static constexpr tile::ScheduleKind kForms[] = {tile::ScheduleKind::Outer,
                                                  tile::ScheduleKind::Dot};
  return kForms;
}

Value HostKernel::errorWord() {
  return workspaceView(WorkspaceLayout::kErrorWord, MemRefType::get({4}, b.getI64Type()), {});
}

Value HostKernel::draw(ValueRange) {
  Value one = arith::ConstantIntOp::create(b, b.getI64Type(), 1);
  Value drawn = memref::AtomicRMWOp::create(b, b.getI64Type(), arith::AtomicRMWKind::addi, one,
                                            parameter(1), ValueRange{b.index(0)});
  return arith::IndexCastOp::create(b, b.getIndexType(), drawn);
}
