//===- CutPrefix.cpp - where the requests' common prefix ends -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three steps, each of which needs what all workers have found in the one before: the pages that
// come before the rows of every request, and the request with the first rows; how many of them all
// requests have in common with it; the tables and lengths of the two parts. What was promised is
// compared, not believed: reading a table costs little beside reading its pages.
//
//===----------------------------------------------------------------------===//

#include "KVRows.h"
#include "KernelEmitters.h"
#include "RequestCheck.h"
#include "Team.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::host;

using Predicate = arith::CmpIPredicate;

namespace {

class PrefixCutter {
public:
  PrefixCutter(Kernel &kernel, tile::CutPrefixOp op)
      : kernel(kernel), b(kernel.builder()), op(op),
        batch(op.getBatch().getDefiningOp<tile::BatchOp>()), kv(kernel, batch.getKv()),
        team(kernel.createTeam()), size(kernel.batchSize(op.getBatch())),
        promised(b.toIndex(b.load(kernel.find(op.getPrefix()), {b.index(0)}))) {}

  void emit() {
    findCommonRows();
    comparePages();
    writeShared();
    writeRest();
  }

private:
  Request read(Value number, Finding &finding);
  Value hasRows(const Request &request) {
    return b.compare(Predicate::sgt, request.qLen, b.index(0));
  }
  Value pagesBefore(const Request &request);
  void report(Value number, Value wrong, Reason reason, Value value, Value limit);
  void findCommonRows();
  void comparePages();
  void writeShared();
  void writeRest();

  Kernel &kernel;
  HostBuilder &b;
  tile::CutPrefixOp op;
  tile::BatchOp batch;
  KVRows kv;
  std::unique_ptr<Team> team;
  Value size, promised; ///< requests; keys
  Value pages;          ///< that are shared, as far as is known
  Value first, end;     ///< the first request with rows, and where the last one's end
};

} // namespace

Request PrefixCutter::read(Value number, Finding &finding) {
  RequestCheck check(kernel, batch);
  finding = check.nothing();
  Request request = check.readExtents(number, finding);
  return check.usable(request, finding);
}

/// Whole pages of keys that come before a request's rows.
Value PrefixCutter::pagesBefore(const Request &request) {
  Value before = b.max(b.sub(request.kvLen, request.qLen), b.index(0));
  return b.divide(before, kv.type.getPageSize());
}

void PrefixCutter::findCommonRows() {
  Value zero = b.index(0);
  HostBuilder::Values init{b.divide(b.max(promised, zero), kv.type.getPageSize()), size, zero};
  HostBuilder::Values own = team->forWorkers(size, init, [&](Value number, ValueRange v) {
    Finding finding;
    Request request = read(number, finding);
    Value rows = hasRows(request), before = b.sub(request.kvLen, request.qLen);
    Value tooMuch = arith::OrIOp::create(b, b.compare(Predicate::sgt, promised, before),
                                         b.compare(Predicate::slt, promised, zero));
    Value keys = b.compare(Predicate::sgt, request.kvLen, zero);
    RequestCheck(kernel, batch)
        .note(finding, arith::AndIOp::create(b, arith::AndIOp::create(b, rows, keys), tooMuch),
              Reason::PrefixLength, promised, before);
    kernel.report(number, finding);
    // The greatest end, as the least of the negative ones.
    Value negativeEnd = b.sub(zero, b.add(request.firstRow, request.qLen));
    return HostBuilder::Values{b.min(v[0], b.select(rows, pagesBefore(request), v[0])),
                               b.min(v[1], b.select(rows, number, size)), b.min(v[2], negativeEnd)};
  });
  first = team->minOfAll(own[1]);
  end = b.sub(zero, team->minOfAll(own[2]));
  Value some = b.compare(Predicate::slt, first, size);
  pages = b.select(some, team->minOfAll(own[0]), zero);
}

void PrefixCutter::comparePages() {
  HostBuilder::Values own = team->forMembers(size, pages, [&](Value number, ValueRange v) {
    Finding finding;
    Value columns = b.select(hasRows(read(number, finding)), pages, b.index(0));
    HostBuilder::Values mine = team->forLanes(columns, pages, [&](Value column, ValueRange least) {
      Value differ = b.compare(Predicate::ne, kv.pageOf(number, column), kv.pageOf(first, column));
      return HostBuilder::Values{b.select(differ, b.min(least[0], column), least[0])};
    });
    Value agreed = team->minOfLanes(mine[0]);
    finding = RequestCheck(kernel, batch).nothing();
    RequestCheck(kernel, batch)
        .note(finding, b.compare(Predicate::slt, agreed, pages), Reason::PrefixPages,
              b.mul(agreed, kv.type.getPageSize()), promised);
    kernel.report(number, finding);
    return HostBuilder::Values{b.min(v[0], agreed)};
  });
  pages = team->minOfAll(own[0]);
}

void PrefixCutter::writeShared() {
  Value table = kernel.find(op.getTable()), len = kernel.find(op.getLen()),
        rows = kernel.find(op.getRows()), zero = b.index(0);
  b.ifThen(team->isFirst(), [&] {
    b.store(b.toI32(b.mul(pages, kv.type.getPageSize())), len, {zero});
    b.store(b.toI32(zero), rows, {zero});
    b.store(b.toI32(end), rows, {b.index(1)});
  });
  team->forWorkers(pages, {}, [&](Value column, ValueRange) {
    b.store(b.toI32(kv.pageOf(first, column)), table, {zero, column});
    return HostBuilder::Values{};
  });
}

/// Every lane writes its request's length: the same one.
void PrefixCutter::writeRest() {
  Value table = kernel.find(op.getRestTable()), lens = kernel.find(op.getRestLens());
  int64_t page = kv.type.getPageSize();
  team->forMembers(size, {}, [&](Value number, ValueRange) {
    Finding finding;
    Request request = read(number, finding);
    Value behind = b.max(b.sub(request.kvLen, b.mul(pages, page)), b.index(0));
    Value keys = b.select(hasRows(request), behind, b.index(0));
    b.store(b.toI32(keys), lens, {number});
    team->forLanes(b.ceilDivide(keys, page), {}, [&](Value column, ValueRange) {
      b.store(b.toI32(kv.pageOf(number, b.add(pages, column))), table, {number, column});
      return HostBuilder::Values{};
    });
    return HostBuilder::Values{};
  });
}

void host::emitCutPrefix(Kernel &kernel, tile::CutPrefixOp op) { PrefixCutter(kernel, op).emit(); }
