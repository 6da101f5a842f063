//===- RequestCheck.cpp - what a request's data must fulfil ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RequestCheck.h"
#include "KVRows.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

using Predicate = arith::CmpIPredicate;

Finding RequestCheck::nothing() {
  Value zero = b.index(0);
  return {zero, zero, zero};
}

void RequestCheck::note(Finding &finding, Value wrong, Reason reason, Value value, Value limit) {
  Value first = b.compare(Predicate::eq, finding.reason, b.index(0));
  Value now = arith::AndIOp::create(b, first, wrong);
  finding.reason = b.select(now, b.index(static_cast<int64_t>(reason)), finding.reason);
  finding.value = b.select(now, value, finding.value);
  finding.limit = b.select(now, limit, finding.limit);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// The columns of the table that a request has.
Value RequestCheck::tableColumns(tile::PagedOp paged, Value request) {
  if (!paged.getStarts())
    return b.dim(kernel.find(paged.getTable()), 1);
  Value starts = kernel.find(paged.getStarts()), size = b.dim(kernel.find(paged.getTable()), 0);
  Value begin = b.toIndex(b.load(starts, {request})),
        end = b.toIndex(b.load(starts, {b.add(request, 1)}));
  // A start outside the list leaves no columns.
  Value inside = b.compare(Predicate::sge, begin, b.index(0));
  return b.select(inside, b.sub(b.min(end, size), begin), b.index(0));
}

void RequestCheck::checkLength(Value kvLen, Finding &finding) {
  Value bound = b.index(tile::boundsOf(op).getKvLen());
  Value outside = arith::OrIOp::create(b, b.compare(Predicate::slt, kvLen, b.index(0)),
                                       b.compare(Predicate::sgt, kvLen, bound));
  note(finding, outside, Reason::KVLength, kvLen, bound);
  for (Value table : op.getTables()) {
    Value positions = b.dim(kernel.find(table), 0);
    note(finding, b.compare(Predicate::sgt, kvLen, positions), Reason::RopePosition,
         b.sub(kvLen, b.index(1)), positions);
  }
}

void RequestCheck::checkColumns(tile::PagedOp paged, Value request, Value kvLen, Finding &finding) {
  Value keys = b.mul(tableColumns(paged, request), op.getKv().getType().getPageSize());
  note(finding, b.compare(Predicate::sgt, kvLen, keys), Reason::TableWidth, kvLen, keys);
}

void RequestCheck::checkKeyRows(tile::DenseOp dense, Value request, Finding &finding) {
  Value rows = kernel.find(dense.getRows());
  Value first = b.toIndex(b.load(rows, {request})),
        last = b.toIndex(b.load(rows, {b.add(request, 1)}));
  Value keys = b.dim(kernel.find(dense.getKey()), 0);
  Value bad = arith::OrIOp::create(b, b.compare(Predicate::slt, first, b.index(0)),
                                   b.compare(Predicate::sgt, last, keys));
  note(finding, arith::OrIOp::create(b, bad, b.compare(Predicate::slt, last, first)),
       Reason::KVRows, last, keys);
}

Request RequestCheck::readExtents(Value number, Finding &finding) {
  Value rows = kernel.find(op.getRows()), zero = b.index(0);
  attn::BoundsAttr bounds = tile::boundsOf(op);
  Value begin = b.toIndex(b.load(rows, {number})),
        end = b.toIndex(b.load(rows, {b.add(number, 1)}));
  Value qLen = b.sub(end, begin), tokens = b.dim(kernel.find(op.getTokens()), 0);
  Value outside = arith::OrIOp::create(b, b.compare(Predicate::slt, begin, zero),
                                       b.compare(Predicate::sgt, end, tokens));
  Value badRows = arith::OrIOp::create(b, outside, b.compare(Predicate::slt, qLen, zero));
  note(finding, badRows, Reason::Rows, b.select(b.compare(Predicate::slt, begin, zero), begin, end),
       tokens);
  note(finding, b.compare(Predicate::sgt, qLen, b.index(bounds.getQLen())), Reason::QueryLength,
       qLen, b.index(bounds.getQLen()));
  Value kvLen = kvLength(kernel, op.getKv(), number);
  auto paged = op.getKv().getDefiningOp<tile::PagedOp>();
  if (!paged)
    checkKeyRows(op.getKv().getDefiningOp<tile::DenseOp>(), number, finding);
  checkLength(kvLen, finding);
  if (paged)
    checkColumns(paged, number, kvLen, finding);
  return {number, b.select(badRows, zero, begin), b.select(badRows, zero, qLen), kvLen};
}

Request RequestCheck::usable(const Request &request, const Finding &finding) {
  Value good = b.compare(Predicate::eq, finding.reason, b.index(0));
  return {request.number, request.firstRow, request.qLen,
          b.select(good, request.kvLen, b.index(0))};
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

Value host::isOutsidePool(HostBuilder &b, Value id, Value pages) {
  return arith::OrIOp::create(b, b.compare(Predicate::slt, id, b.index(0)),
                              b.compare(Predicate::sge, id, pages));
}

void RequestCheck::checkPages(const Request &request, Finding &finding) {
  auto paged = op.getKv().getDefiningOp<tile::PagedOp>();
  if (!paged)
    return;
  KVRows kv(kernel, op.getKv());
  Value pages = kv.poolSize();
  Value good = b.compare(Predicate::eq, finding.reason, b.index(0));
  Value needed = b.select(
      good, b.ceilDivide(b.max(request.kvLen, b.index(0)), kv.type.getPageSize()), b.index(0));
  HostBuilder::Values carried =
      b.loop(b.index(0), needed, 1, {finding.reason, finding.value, finding.limit},
             [&](Value column, ValueRange found) {
               Value id = kv.pageOf(request.number, column);
               Finding next{found[0], found[1], found[2]};
               note(next, isOutsidePool(b, id, pages), Reason::PageId, id, pages);
               return HostBuilder::Values{next.reason, next.value, next.limit};
             });
  finding = {carried[0], carried[1], carried[2]};
}
