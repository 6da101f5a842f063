//===- BatchKernel.cpp - checks the extents of every request --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One worker walks the requests before any kernel that uses them. What breaks the contract is
// recorded once (the first request wins) and the request gets no keys, so that the kernels that
// follow read no length, table entry or page outside its buffer.
//
//===----------------------------------------------------------------------===//

#include "KVRows.h"
#include "KernelEmitters.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

namespace {

using Predicate = arith::CmpIPredicate;

/// What is known to be wrong with a request: reason (0 if nothing), value, limit.
struct Finding {
  Value reason, value, limit;
};

class BatchEmitter {
public:
  BatchEmitter(Kernel &kernel, tile::BatchOp op) : kernel(kernel), b(kernel.builder()), op(op) {}
  void emit();

private:
  void checkRequest(Value request);
  void check(Finding &finding, Value wrong, Reason reason, Value value, Value limit);
  void checkLengths(Finding &finding, Value request, Value kvLen, Value lastColumn);
  void checkPages(Finding &finding, Value request, Value kvLen);
  void record(Value request, const Finding &finding);

  Kernel &kernel;
  HostBuilder &b;
  tile::BatchOp op;
};

void BatchEmitter::check(Finding &finding, Value wrong, Reason reason, Value value, Value limit) {
  Value first = b.compare(Predicate::eq, finding.reason, b.index(0));
  Value now = arith::AndIOp::create(b, first, wrong);
  finding.reason = b.select(now, b.index(static_cast<int64_t>(reason)), finding.reason);
  finding.value = b.select(now, value, finding.value);
  finding.limit = b.select(now, limit, finding.limit);
}

/// The columns of the table that a request has.
Value tableColumns(Kernel &kernel, tile::PagedOp paged, Value request) {
  HostBuilder &b = kernel.builder();
  if (!paged.getStarts())
    return b.dim(kernel.find(paged.getTable()), 1);
  Value starts = kernel.find(paged.getStarts()), size = b.dim(kernel.find(paged.getTable()), 0);
  Value begin = b.toIndex(b.load(starts, {request})),
        end = b.toIndex(b.load(starts, {b.add(request, 1)}));
  // A start outside the list leaves no columns.
  Value inside = b.compare(Predicate::sge, begin, b.index(0));
  return b.select(inside, b.sub(b.min(end, size), begin), b.index(0));
}

void BatchEmitter::checkLengths(Finding &finding, Value request, Value kvLen, Value lastColumn) {
  Value bound = b.index(kernel.workspaceLayout().getBounds().getKvLen());
  Value outside = arith::OrIOp::create(b, b.compare(Predicate::slt, kvLen, b.index(0)),
                                       b.compare(Predicate::sgt, kvLen, bound));
  check(finding, outside, Reason::KVLength, kvLen, bound);
  for (Value table : op.getTables()) {
    Value positions = b.dim(kernel.find(table), 0);
    check(finding, b.compare(Predicate::sgt, kvLen, positions), Reason::RopePosition,
          b.sub(kvLen, b.index(1)), positions);
  }
  if (lastColumn)
    check(finding, b.compare(Predicate::sgt, kvLen, lastColumn), Reason::TableWidth, kvLen,
          lastColumn);
}

/// Walks the needed part of the table; sets the finding to its first id outside the pool.
void BatchEmitter::checkPages(Finding &finding, Value request, Value kvLen) {
  auto paged = op.getKv().getDefiningOp<tile::PagedOp>();
  Value table = kernel.find(paged.getTable());
  Value pages =
      b.min(b.dim(kernel.find(paged.getKPages()), 0), b.dim(kernel.find(paged.getVPages()), 0));
  Value good = b.compare(Predicate::eq, finding.reason, b.index(0));
  Value needed = b.select(
      good, b.ceilDivide(b.max(kvLen, b.index(0)), op.getKv().getType().getPageSize()), b.index(0));
  Value first =
      paged.getStarts() ? b.toIndex(b.load(kernel.find(paged.getStarts()), {request})) : Value();
  HostBuilder::Values carried =
      b.loop(b.index(0), needed, 1, {finding.reason, finding.value, finding.limit},
             [&](Value column, ValueRange found) {
               Value id = b.toIndex(first ? b.load(table, {b.add(first, column)})
                                          : b.load(table, {request, column}));
               Value wrong = arith::OrIOp::create(b, b.compare(Predicate::slt, id, b.index(0)),
                                                  b.compare(Predicate::sge, id, pages));
               Finding next{found[0], found[1], found[2]};
               check(next, wrong, Reason::PageId, id, pages);
               return HostBuilder::Values{next.reason, next.value, next.limit};
             });
  finding = {carried[0], carried[1], carried[2]};
}

void BatchEmitter::record(Value request, const Finding &finding) {
  Value word =
      kernel.workspaceView(WorkspaceLayout::kErrorWord, MemRefType::get({4}, b.getI64Type()), {});
  auto put = [&](int64_t i, Value value) {
    b.store(arith::IndexCastOp::create(b, b.getI64Type(), value), word, {b.index(i)});
  };
  Value taken = b.load(word, {b.index(0)});
  Value free = b.compare(Predicate::eq, taken, arith::ConstantIntOp::create(b, b.getI64Type(), 0));
  Value bad = b.compare(Predicate::ne, finding.reason, b.index(0));
  b.ifThen(arith::AndIOp::create(b, free, bad), [&] {
    put(0, b.add(request, 1));
    put(1, finding.reason);
    put(2, finding.value);
    put(3, finding.limit);
  });
}

void BatchEmitter::checkRequest(Value request) {
  Value rows = kernel.find(op.getRows()), zero = b.index(0);
  attn::BoundsAttr bounds = kernel.workspaceLayout().getBounds();
  Value begin = b.toIndex(b.load(rows, {request})),
        end = b.toIndex(b.load(rows, {b.add(request, 1)}));
  Value qLen = b.sub(end, begin), tokens = b.dim(kernel.find(op.getTokens()), 0);
  Finding finding{zero, zero, zero};
  Value outside = arith::OrIOp::create(b, b.compare(Predicate::slt, begin, zero),
                                       b.compare(Predicate::sgt, end, tokens));
  Value badRows = arith::OrIOp::create(b, outside, b.compare(Predicate::slt, qLen, zero));
  check(finding, badRows, Reason::Rows,
        b.select(b.compare(Predicate::slt, begin, zero), begin, end), tokens);
  check(finding, b.compare(Predicate::sgt, qLen, b.index(bounds.getQLen())), Reason::QueryLength,
        qLen, b.index(bounds.getQLen()));
  Value kvLen = kvLength(kernel, op.getKv(), request);
  if (auto paged = op.getKv().getDefiningOp<tile::PagedOp>()) {
    Value columns = tableColumns(kernel, paged, request);
    checkLengths(finding, request, kvLen, b.mul(columns, op.getKv().getType().getPageSize()));
    checkPages(finding, request, kvLen);
  } else {
    auto dense = op.getKv().getDefiningOp<tile::DenseOp>();
    Value kvRows = kernel.find(dense.getRows());
    Value first = b.toIndex(b.load(kvRows, {request})),
          last = b.toIndex(b.load(kvRows, {b.add(request, 1)}));
    Value keys = b.dim(kernel.find(dense.getKey()), 0);
    Value bad = arith::OrIOp::create(b, b.compare(Predicate::slt, first, zero),
                                     b.compare(Predicate::sgt, last, keys));
    check(finding, arith::OrIOp::create(b, bad, b.compare(Predicate::slt, last, first)),
          Reason::KVRows, last, keys);
    checkLengths(finding, request, kvLen, Value());
  }
  record(request, finding);
  // A request with broken rows has none; any other keeps its rows, so that their results are
  // written.
  Value good = b.compare(Predicate::eq, finding.reason, zero);
  Value extents = kernel.extents(op.getBatch());
  auto put = [&](int64_t column, Value value) {
    b.store(b.toI32(value), extents, {request, b.index(column)});
  };
  put(0, b.select(badRows, zero, begin));
  put(1, b.select(badRows, zero, qLen));
  put(2, b.select(good, kvLen, zero));
}

void BatchEmitter::emit() {
  Value size = kernel.batchSize(op.getBatch());
  b.loop(b.index(0), size, 1, [&](Value request) { checkRequest(request); });
}

} // namespace

void host::emitBatch(Kernel &kernel, tile::BatchOp op) { BatchEmitter(kernel, op).emit(); }
