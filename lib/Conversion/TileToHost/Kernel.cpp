//===- Kernel.cpp - one host kernel and its surroundings ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

int64_t WorkspaceLayout::offsetOf(Value value, int64_t bytes) {
  auto [it, inserted] = offsets.try_emplace(value, next);
  if (inserted)
    allocate(bytes);
  return it->second;
}

int64_t WorkspaceLayout::allocate(int64_t bytes) {
  int64_t place = next;
  next += llvm::alignTo(bytes, 64);
  return place;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static MemRefType bytesType(OpBuilder &b) {
  return MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
}

Kernel::Kernel(func::FuncOp function, StringRef name, WorkspaceLayout &layout, bool counters,
               Location loc)
    : outer(function), layout(layout), counters(counters), b(loc, function.getContext()) {
  b.setInsertionPoint(function);
  SmallVector<Type> types(function.getArgumentTypes());
  types.append({bytesType(b), bytesType(b), MemRefType::get({1}, b.getI64Type())});
  kernel = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
  Block *block = kernel.addEntryBlock();
  for (auto [from, to] : llvm::zip(function.getArguments(), block->getArguments()))
    found[from] = to;
  unsigned count = function.getNumArguments();
  workspace = block->getArgument(count);
  scratchMemory = block->getArgument(count + 1);
  ticket = block->getArgument(count + 2);
  b.setInsertionPointToStart(block);
  prologueEnd = func::ReturnOp::create(b);
  // A marker between what is computed once and the work: erased in finish().
  b.setInsertionPoint(prologueEnd);
  prologueEnd = arith::ConstantIndexOp::create(b, 0).getOperation();
  b.setInsertionPointAfter(prologueEnd);
}

StringAttr Kernel::finish() {
  if (prologueEnd->use_empty())
    prologueEnd->erase();
  return kernel.getSymNameAttr();
}

Value Kernel::find(Value value) {
  if (Value known = found.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  assert(op && "every argument of the function is known");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  if (auto place = dyn_cast<tile::WorkspaceOp>(op)) {
    SmallVector<Value> dims(llvm::map_range(place.getDims(), [&](Value dim) { return find(dim); }));
    int64_t offset = layout.offsetOf(place.getBuffer(), place.getBytes());
    return found[value] =
               workspaceView(offset, cast<MemRefType>(place.getBuffer().getType()), dims);
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, find(operand));
  Operation *clone = b.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    found[from] = to;
  return found.lookup(value);
}

//===----------------------------------------------------------------------===//
// Scratch and workspace
//===----------------------------------------------------------------------===//

Value Kernel::scratch(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  auto type = MemRefType::get(shape, element ? element : b.getF32Type());
  Value offset = b.index(scratchNext);
  scratchNext += llvm::alignTo(type.getNumElements() * type.getElementTypeBitWidth() / 8, 64);
  return memref::ViewOp::create(b, type, scratchMemory, offset, ValueRange());
}

Value Kernel::workspaceView(int64_t offset, MemRefType type, ValueRange dynamicSizes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  return memref::ViewOp::create(b, type, workspace, b.index(offset), dynamicSizes);
}

Value Kernel::batchSize(Value batch) {
  auto op = batch.getDefiningOp<tile::BatchOp>();
  Value rows = find(op.getRows());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  return b.sub(b.dim(rows, 0), b.index(1));
}

Value Kernel::extents(Value batch) {
  if (Value known = found.lookup(batch))
    return known;
  auto type = MemRefType::get({layout.getBounds().getBatch(), 4}, b.getI32Type());
  return found[batch] = workspaceView(layout.extentsOf(batch), type, {});
}

Request Kernel::readRequest(Value batch, Value number) {
  Value table = extents(batch);
  auto read = [&](int64_t column) { return b.toIndex(b.load(table, {number, b.index(column)})); };
  return {number, read(0), read(1), read(2)};
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

Value Kernel::drawTicket() {
  Value one = arith::ConstantIntOp::create(b, b.getI64Type(), 1);
  Value drawn = memref::AtomicRMWOp::create(b, b.getI64Type(), arith::AtomicRMWKind::addi, one,
                                            ticket, ValueRange{b.index(0)});
  return arith::IndexCastOp::create(b, b.getIndexType(), drawn);
}

void Kernel::forTickets(Value count, llvm::function_ref<void(Value)> body) {
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType()}, ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value drawn = drawTicket();
  scf::ConditionOp::create(b, b.compare(arith::CmpIPredicate::slt, drawn, count), drawn);
  b.createBlock(&loop.getAfter(), {}, b.getIndexType(), b.getLoc());
  body(loop.getAfter().getArgument(0));
  scf::YieldOp::create(b);
}

/// Moves the cursor (request, items before it) to the request that holds `ticket`, or past the
/// last.
static HostBuilder::Values advance(Kernel &kernel, Value batch, Value size, Value ticket,
                                   ValueRange cursor, llvm::function_ref<Value(Request)> itemsOf) {
  HostBuilder &b = kernel.builder();
  Type index = b.getIndexType();
  auto loop = scf::WhileOp::create(b, TypeRange{index, index}, cursor);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, {index, index}, {b.getLoc(), b.getLoc()});
  Value request = before->getArgument(0), base = before->getArgument(1);
  Value exists = b.compare(arith::CmpIPredicate::slt, request, size);
  auto end = scf::IfOp::create(b, TypeRange{index}, exists, /*withElseRegion=*/true);
  b.setInsertionPointToStart(end.thenBlock());
  scf::YieldOp::create(b, b.add(base, itemsOf(kernel.readRequest(batch, request))));
  b.setInsertionPointToStart(end.elseBlock());
  scf::YieldOp::create(b, base);
  b.setInsertionPointAfter(end);
  Value past = b.compare(arith::CmpIPredicate::sge, ticket, end.getResult(0));
  Value more = arith::AndIOp::create(b, exists, past);
  // The after region gets the next request and the items before it; the results are the cursor
  // itself.
  Value nextRequest = b.select(more, b.add(request, 1), request);
  Value nextBase = b.select(more, end.getResult(0), base);
  scf::ConditionOp::create(b, more, ValueRange{nextRequest, nextBase});
  Block *after = b.createBlock(&loop.getAfter(), {}, {index, index}, {b.getLoc(), b.getLoc()});
  scf::YieldOp::create(b, after->getArguments());
  return HostBuilder::Values(loop.getResults());
}

void Kernel::forItems(Value batch, llvm::function_ref<Value(Request)> itemsOf,
                      llvm::function_ref<void(Request, Value, Value)> body) {
  Value size = batchSize(batch);
  extents(batch); // its view belongs to the prologue
  Type index = b.getIndexType();
  Value zero = b.index(0);
  auto loop = scf::WhileOp::create(b, TypeRange{index, index, index}, ValueRange{zero, zero});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, {index, index}, {b.getLoc(), b.getLoc()});
  Value drawn = drawTicket();
  HostBuilder::Values cursor = advance(*this, batch, size, drawn, before->getArguments(), itemsOf);
  Value more = b.compare(arith::CmpIPredicate::slt, cursor[0], size);
  scf::ConditionOp::create(b, more, ValueRange{cursor[0], cursor[1], drawn});
  Block *after = b.createBlock(&loop.getAfter(), {}, {index, index, index},
                               {b.getLoc(), b.getLoc(), b.getLoc()});
  Value request = after->getArgument(0), base = after->getArgument(1),
        current = after->getArgument(2);
  body(readRequest(batch, request), b.sub(current, base), current);
  scf::YieldOp::create(b, ValueRange{request, base});
}

void Kernel::count(Counter counter, llvm::function_ref<Value()> amount) {
  if (!counters)
    return;
  Value memory =
      workspaceView(WorkspaceLayout::kCounters, MemRefType::get({8}, b.getI64Type()), {});
  Value value = arith::IndexCastOp::create(b, b.getI64Type(), amount());
  memref::AtomicRMWOp::create(b, b.getI64Type(), arith::AtomicRMWKind::addi, value, memory,
                              ValueRange{b.index(static_cast<int64_t>(counter))});
}
