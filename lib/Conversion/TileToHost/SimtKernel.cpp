//===- SimtKernel.cpp - a kernel whose workers are GPU threads ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtKernel.h"
#include "RequestCheck.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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
