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

SimtKernel::SimtKernel(const SimtModule &module, StringRef name, const hopper::SimtLaunch &launch,
                       Location loc)
    : Kernel(module.function, endOf(module.kernels), name, module.layout, module.counters, loc,
             errorWordType(module.function)) {
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr(static_cast<int32_t>(launch.threads)));
  if (launch.resident)
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(launch.ctasPerMultiprocessor));
  // Constant offsets let a row of scratch become registers, as many as a thread has.
  constexpr int64_t kMaxRow = 128;
  b.unrolledVectors = kMaxRow / kLanes;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x),
        blocks = gpu::GridDimOp::create(b, gpu::Dimension::x);
  thread = b.add(b.mul(block, launch.threads), gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  gridThreads = b.mul(blocks, launch.threads);
  auto meet = [&](NVVM::GridDepActionKind kind) { NVVM::GriddepcontrolOp::create(b, kind); };
  if (module.order.releases)
    meet(NVVM::GridDepActionKind::launch_dependents);
  if (module.order.early)
    meet(NVVM::GridDepActionKind::wait);
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

/// Where a thread keeps the number of the request that it found last: -1 at first.
Value SimtKernel::lastRequest() {
  if (!lastRequestMemory) {
    OpBuilder::InsertionGuard guard(b);
    lastRequestMemory = scratch({1}, b.getIndexType());
    b.setInsertionPoint(prologueEnd);
    b.store(b.index(-1), lastRequestMemory, {b.index(0)});
  }
  return lastRequestMemory;
}

/// The number of the request that has the row `token`, of `size` requests: by halves.
Value SimtKernel::searchRequest(Value rows, Value size, Value token) {
  using arith::CmpIPredicate::sle, arith::CmpIPredicate::slt;
  auto steps = static_cast<int64_t>(llvm::Log2_64_Ceil(layout.getBounds().getBatch() + 1));
  HostBuilder::Values range =
      b.loop(b.index(0), b.index(steps), 1, {b.index(0), size}, [&](Value, ValueRange between) {
        Value middle = b.divide(b.add(between[0], between[1]), 2);
        Value next = b.min(b.add(middle, 1), size);
        Value isOpen = b.compare(slt, between[0], between[1]);
        Value ends = b.compare(sle, b.toIndex(b.load(rows, {next})), token);
        Value isBehind = arith::AndIOp::create(b, isOpen, ends);
        return HostBuilder::Values{b.select(isBehind, next, between[0]),
                                   b.select(isBehind, between[1], middle)};
      });
  return range[0];
}

void SimtKernel::withRequestOf(Value batch, Value token,
                               llvm::function_ref<void(const Request &)> body) {
  using arith::CmpIPredicate::sle, arith::CmpIPredicate::slt;
  auto op = batch.getDefiningOp<tile::BatchOp>();
  Value size = batchSize(batch), last = b.sub(size, b.index(1));
  auto read = [&](Value number) {
    RequestCheck check(*this, op);
    Finding finding = check.nothing();
    Request r = check.usable(check.readExtents(number, finding), finding);
    return HostBuilder::Values{r.number, r.firstRow, r.qLen, r.kvLen};
  };
  auto holds = [&](ValueRange r) {
    return Value(arith::AndIOp::create(b, b.compare(sle, r[1], token),
                                       b.compare(slt, token, b.add(r[1], r[2]))));
  };
  b.ifThen(b.compare(slt, b.index(0), size), [&] {
    // At decode token t is request t's, and a thread's next token is often of the same request as
    // its last one. All that is known of the guess is asked for at once.
    Value before = b.load(lastRequest(), {b.index(0)});
    Value none = b.compare(slt, before, b.index(0));
    HostBuilder::Values guess = read(b.min(b.select(none, token, before), last));
    Value isOther = b.compare(arith::CmpIPredicate::eq, holds(guess),
                              arith::ConstantIntOp::create(b, b.getI1Type(), 0));
    HostBuilder::Values found = b.ifThenElse(isOther, guess, [&] {
      return read(b.min(searchRequest(find(op.getRows()), size, token), last));
    });
    b.store(found[0], lastRequest(), {b.index(0)});
    b.ifThen(holds(found), [&] { body({found[0], found[1], found[2], found[3]}); });
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
    Value other = NVVM::ShflOp::create(b, x.getType(), mask, x, b.i32(distance), b.i32(kWholeWarp),
                                       NVVM::ShflKind::bfly, UnitAttr());
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
