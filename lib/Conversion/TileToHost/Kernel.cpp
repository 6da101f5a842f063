//===- Kernel.cpp - one kernel and its surroundings -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Kernel::Kernel(func::FuncOp function, OpBuilder::InsertPoint place, StringRef name,
               WorkspaceLayout &layout, bool counters, Location loc, ArrayRef<Type> more)
    : outer(function), layout(layout), b(loc, function.getContext()), counters(counters) {
  b.restoreInsertionPoint(place);
  SmallVector<Type> types(function.getArgumentTypes());
  types.push_back(MemRefType::get({ShapedType::kDynamic}, b.getI8Type()));
  llvm::append_range(types, more);
  kernel = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
  Block *block = kernel.addEntryBlock();
  for (auto [from, to] : llvm::zip(function.getArguments(), block->getArguments()))
    found[from] = to;
  workspace = block->getArgument(function.getNumArguments());
  b.setInsertionPointToStart(block);
  prologueEnd = func::ReturnOp::create(b);
  // A marker between what is computed once and the work: erased in finish().
  b.setInsertionPoint(prologueEnd);
  prologueEnd = arith::ConstantIndexOp::create(b, 0).getOperation();
  b.setInsertionPointAfter(prologueEnd);
}

Value Kernel::parameter(unsigned i) { return kernel.getArgument(outer.getNumArguments() + 1 + i); }

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
// Workspace
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// The block of a loop's region, with so many index arguments.
static Block *addBlock(HostBuilder &b, Region &region, size_t arguments) {
  SmallVector<Type> types(arguments, b.getIndexType());
  return b.createBlock(&region, {}, types, SmallVector<Location>(arguments, b.getLoc()));
}

void Kernel::forTickets(Value count, llvm::function_ref<void(Value)> body) {
  HostBuilder::Values first = firstDraw();
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType()}, first);
  OpBuilder::InsertionGuard guard(b);
  Block *before = addBlock(b, loop.getBefore(), first.size());
  Value drawn = draw(before->getArguments());
  scf::ConditionOp::create(b, b.compare(arith::CmpIPredicate::slt, drawn, count), drawn);
  Value ticket = addBlock(b, loop.getAfter(), 1)->getArgument(0);
  body(ticket);
  scf::YieldOp::create(b, nextDraw(ticket));
}

/// Moves the cursor (request, items before it) to the request that holds `ticket`, or past the
/// last.
static HostBuilder::Values advance(Kernel &kernel, Value batch, Value size, Value ticket,
                                   ValueRange cursor, llvm::function_ref<Value(Request)> itemsOf) {
  HostBuilder &b = kernel.builder();
  Type index = b.getIndexType();
  auto loop = scf::WhileOp::create(b, TypeRange{index, index}, cursor);
  OpBuilder::InsertionGuard guard(b);
  Block *before = addBlock(b, loop.getBefore(), 2);
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
  Block *after = addBlock(b, loop.getAfter(), 2);
  scf::YieldOp::create(b, after->getArguments());
  return HostBuilder::Values(loop.getResults());
}

void Kernel::forItems(Value batch, llvm::function_ref<Value(Request)> itemsOf,
                      llvm::function_ref<void(Request, Value, Value)> body) {
  Value size = batchSize(batch);
  Type index = b.getIndexType();
  HostBuilder::Values init{b.index(0), b.index(0)};
  llvm::append_range(init, firstDraw());
  auto loop = scf::WhileOp::create(b, TypeRange{index, index, index}, init);
  OpBuilder::InsertionGuard guard(b);
  auto carried = addBlock(b, loop.getBefore(), init.size())->getArguments();
  Value drawn = draw(carried.drop_front(2));
  HostBuilder::Values cursor = advance(*this, batch, size, drawn, carried.take_front(2), itemsOf);
  Value more = b.compare(arith::CmpIPredicate::slt, cursor[0], size);
  scf::ConditionOp::create(b, more, ValueRange{cursor[0], cursor[1], drawn});
  Block *after = addBlock(b, loop.getAfter(), 3);
  Value request = after->getArgument(0), base = after->getArgument(1),
        current = after->getArgument(2);
  body(readRequest(batch, request), b.sub(current, base), current);
  HostBuilder::Values next{request, base};
  llvm::append_range(next, nextDraw(current));
  scf::YieldOp::create(b, next);
}

void Kernel::forTokens(Value batch, Value, int64_t parts,
                       llvm::function_ref<void(Request, Value, Value)> body) {
  auto items = [&](Request request) { return b.mul(request.qLen, parts); };
  forItems(batch, items, [&](Request request, Value item, Value) {
    Value row = b.divide(item, parts);
    body(request, b.add(request.firstRow, row), parts == 1 ? b.index(0) : b.remainder(item, parts));
  });
}

//===----------------------------------------------------------------------===//
// Counters and errors
//===----------------------------------------------------------------------===//

void Kernel::count(Counter counter, llvm::function_ref<Value()> amount) {
  if (!counters)
    return;
  Value memory =
      workspaceView(WorkspaceLayout::kCounters, MemRefType::get({8}, b.getI64Type()), {});
  Value value = arith::IndexCastOp::create(b, b.getI64Type(), amount());
  memref::AtomicRMWOp::create(b, b.getI64Type(), arith::AtomicRMWKind::addi, value, memory,
                              ValueRange{b.index(static_cast<int64_t>(counter))});
}

/// Whether a word of the error word is still to be written.
static Value isFree(HostBuilder &b, Value word) {
  Value zero = arith::ConstantIntOp::create(b, b.getI64Type(), 0);
  return b.compare(arith::CmpIPredicate::eq, word, zero);
}

/// Writes a word that is free, by compare-exchange: that is acquire and release for the whole system
/// on every target, where NVPTX has exchanges relaxed.
static void claim(HostBuilder &b, Value words, int64_t at, Value value) {
  auto op = memref::GenericAtomicRMWOp::create(b, words, ValueRange{b.index(at)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Value holder = op.getCurrentValue();
  memref::AtomicYieldOp::create(b, b.select(isFree(b, holder), value, holder));
}

void Kernel::report(Value request, const Finding &finding) {
  Value word = errorWord(), first = b.index(0);
  auto number = [&](Value value) {
    return Value(arith::IndexCastOp::create(b, b.getI64Type(), value));
  };
  Value wrong = b.compare(arith::CmpIPredicate::ne, finding.reason, first);
  // A claim costs an atomic: only where there is something to claim.
  b.ifThen(wrong, [&] {
    b.ifThen(isFree(b, b.load(word, {first})), [&] {
      Value mine = number(b.add(request, 1));
      claim(b, word, 0, mine);
      // Workers that report the same request all find that it is theirs, and write the same.
      Value holds = b.compare(arith::CmpIPredicate::eq, b.load(word, {first}), mine);
      b.ifThen(holds, [&] {
        b.store(number(finding.value), word, {b.index(2)});
        b.store(number(finding.limit), word, {b.index(3)});
        claim(b, word, 1, number(finding.reason)); // last: a host may read while kernels run
      });
    });
  });
}
