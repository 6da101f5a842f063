//===- SimtKernel.cpp - a kernel whose workers are GPU threads ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtKernel.h"
#include "RequestCheck.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

static Type errorWordType(Operation *op) {
  return MemRefType::get({4}, IntegerType::get(op->getContext(), 64));
}

static OpBuilder::InsertPoint endOf(gpu::GPUModuleOp module) {
  return {module.getBody(), module.getBody()->end()};
}

SimtKernel::SimtKernel(const SimtModule &module, StringRef name, int64_t threads, Location loc)
    : Kernel(module.function, endOf(module.kernels), name, module.layout, module.counters, loc,
             errorWordType(module.function)) {
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr(static_cast<int32_t>(threads)));
  // Constant offsets let a row of scratch become registers, as many as a thread has.
  constexpr int64_t kMaxRow = 128;
  b.unrolledVectors = kMaxRow / kLanes;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x),
        blocks = gpu::GridDimOp::create(b, gpu::Dimension::x);
  thread = b.add(b.mul(block, threads), gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  gridThreads = b.mul(blocks, threads);
}

Value SimtKernel::scratch(ArrayRef<int64_t> shape, Type element) {
  constexpr int64_t kVectorBytes = 16; // of the widest access
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  auto type = MemRefType::get(shape, element ? element : b.getF32Type());
  return memref::AllocaOp::create(b, type, b.getI64IntegerAttr(kVectorBytes));
}

llvm::ArrayRef<tile::ScheduleKind> SimtKernel::forms() {
  static constexpr tile::ScheduleKind kForms[] = {tile::ScheduleKind::Simt};
  return kForms;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Every thread passes every request on its way to the end of the batch; the first one reports for
/// all.
Request SimtKernel::readRequest(Value batch, Value number) {
  RequestCheck check(*this, batch.getDefiningOp<tile::BatchOp>());
  Finding finding = check.nothing();
  Request request = check.readExtents(number, finding);
  Value first = b.compare(arith::CmpIPredicate::eq, thread, b.index(0));
  b.ifThen(first, [&] { report(number, finding); });
  return check.usable(request, finding);
}

Request SimtKernel::withPagesChecked(Value batch, const Request &request) {
  RequestCheck check(*this, batch.getDefiningOp<tile::BatchOp>());
  Finding finding = check.nothing();
  check.checkPages(request, finding);
  report(request.number, finding);
  return check.usable(request, finding);
}

void SimtKernel::ifPageExists(const Request &request, Value page, Value pages,
                              llvm::function_ref<void()> body) {
  b.ifThenElse(
      isOutsidePool(b, page, pages),
      [&] {
        Value reason = b.index(static_cast<int64_t>(Reason::PageId));
        report(request.number, {reason, page, pages});
      },
      body);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void SimtKernel::withRequestOf(Value batch, Value token,
                               llvm::function_ref<void(const Request &)> body) {
  using arith::CmpIPredicate::sle, arith::CmpIPredicate::slt;
  auto op = batch.getDefiningOp<tile::BatchOp>();
  Value rows = find(op.getRows()), size = batchSize(batch), zero = b.index(0);
  auto both = [&](Value x, Value y) { return Value(arith::AndIOp::create(b, x, y)); };
  auto firstRow = [&](Value request) { return b.toIndex(b.load(rows, {b.min(request, size)})); };
  auto holds = [&](Value begin, Value end) {
    return both(b.compare(sle, begin, token), b.compare(slt, token, end));
  };
  // At decode token t is request t's.
  Value guess = b.min(token, size);
  Value isGuess = holds(firstRow(guess), firstRow(b.add(guess, 1)));
  auto steps = static_cast<int64_t>(llvm::Log2_64_Ceil(layout.getBounds().getBatch() + 1));
  HostBuilder::Values range = b.loop(
      zero, b.select(isGuess, zero, b.index(steps)), 1,
      {b.select(isGuess, guess, zero), b.select(isGuess, guess, size)},
      [&](Value, ValueRange between) {
        Value middle = b.divide(b.add(between[0], between[1]), 2), next = b.add(middle, 1);
        Value isOpen = b.compare(slt, between[0], between[1]);
        Value isBehind = both(isOpen, b.compare(sle, firstRow(next), token));
        return HostBuilder::Values{b.select(isBehind, next, between[0]),
                                   b.select(isBehind, between[1], b.min(middle, between[1]))};
      });
  b.ifThen(b.compare(slt, range[0], size), [&] {
    RequestCheck check(*this, op);
    Finding finding = check.nothing();
    Request request = check.usable(check.readExtents(range[0], finding), finding);
    Value end = b.add(request.firstRow, request.qLen);
    b.ifThen(holds(request.firstRow, end), [&] { body(request); });
  });
}

void SimtKernel::reportRequests(Value batch) {
  forTickets(batchSize(batch), [&](Value number) {
    RequestCheck check(*this, batch.getDefiningOp<tile::BatchOp>());
    Finding finding = check.nothing();
    check.readExtents(number, finding);
    report(number, finding);
  });
}

void SimtKernel::forTokens(Value batch, Value tokens, int64_t parts,
                           llvm::function_ref<void(Request, Value, Value)> body) {
  forTickets(b.mul(tokens, parts), [&](Value ticket) {
    Value token = b.divide(ticket, parts);
    Value part = parts == 1 ? b.index(0) : b.remainder(ticket, parts);
    withRequestOf(batch, token, [&](const Request &request) { body(request, token, part); });
  });
  reportRequests(batch);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value SimtKernel::sumOfLanes(Value x, int64_t lanes) {
  if (lanes == 1)
    return x;
  constexpr int64_t kWholeWarp = 31; // where a lane's partner may lie
  Value own = b.toI32(b.remainder(thread, hopper::kWarp));
  Value first = b.sub(own, b.remainder(own, lanes));
  Value group = b.i32(static_cast<int32_t>(llvm::maskTrailingOnes<uint32_t>(lanes)));
  Value mask = arith::ShLIOp::create(b, group, first);
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    Value other = NVVM::ShflOp::create(b, x.getType(), mask, x, b.i32(distance),
                                       b.i32(kWholeWarp), NVVM::ShflKind::bfly, UnitAttr());
    x = b.fadd(x, other);
  }
  return x;
}

int64_t SimtKernel::alignment(Value buffer, int64_t elements) {
  constexpr int64_t kWidestAccess = 16;
  int64_t bits = cast<MemRefType>(buffer.getType()).getElementTypeBitWidth();
  return std::min(kWidestAccess, elements * bits / 8);
}

void SimtKernel::requireAligned(Value buffer, int64_t elements) {
  int64_t bytes = alignment(buffer, elements);
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  if (auto argument = dyn_cast<BlockArgument>(buffer)) // places in the workspace lie so already
    requireAlignment(outer, argument.getArgNumber(), bytes);
}
