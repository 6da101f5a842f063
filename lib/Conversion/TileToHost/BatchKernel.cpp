//===- BatchKernel.cpp - checks the extents of every request --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One worker of the host walks the requests before any kernel that uses them. What breaks the
// contract is recorded once (the first request wins) and the request gets no keys, so that the
// kernels that follow read no length, table entry or page outside its buffer.
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"
#include "KernelEmitters.h"
#include "RequestCheck.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

void host::emitBatch(HostKernel &kernel, tile::BatchOp op) {
  HostBuilder &b = kernel.builder();
  RequestCheck check(kernel, op);
  Value extents = kernel.extents(op.getBatch());
  b.loop(b.index(0), kernel.batchSize(op.getBatch()), 1, [&](Value number) {
    Finding finding = check.nothing();
    Request request = check.readExtents(number, finding);
    check.checkPages(request, finding);
    kernel.report(number, finding);
    Request usable = check.usable(request, finding);
    Value columns[] = {usable.firstRow, usable.qLen, usable.kvLen};
    for (auto [column, value] : llvm::enumerate(columns))
      b.store(b.toI32(value), extents, {number, b.index(static_cast<int64_t>(column))});
  });
}
