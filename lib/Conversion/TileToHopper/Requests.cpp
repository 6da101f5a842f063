//===- Requests.cpp - the requests of a batch, one for each lane ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Requests.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

Values Request::fields() const {
  Values all{firstToken, qLen, kvLen};
  if (keys)
    all.push_back(keys);
  return all;
}

Request Request::of(Value number, ValueRange fields) {
  return {number, fields[0], fields[1], fields[2], fields.size() > 3 ? fields[3] : Value()};
}

Request Request::ofNote(const FoldSpace &space, ValueRange note) {
  return {note[TileNote::Request], note[TileNote::FirstToken], note[TileNote::QLen],
          note[TileNote::KVLen], space.hasKeyStarts() ? note[TileNote::Keys] : Value()};
}

void Request::putInto(Values &note) const {
  note[TileNote::Request] = number;
  note[TileNote::FirstToken] = firstToken;
  note[TileNote::QLen] = qLen;
  note[TileNote::KVLen] = kvLen;
  if (keys)
    note[TileNote::Keys] = keys;
}

RequestReader::RequestReader(SpaceKernel &kernel, const FoldSpace &space)
    : kernel(kernel), b(kernel.builder()), space(space), size(kernel.extent(space.rows, 0, -1)),
      lane(b.lane()) {}

int64_t RequestReader::maxChunks() const {
  return llvm::divideCeil(space.maxima.getBatch(), kWarp);
}

Value RequestReader::load(Value buffer, Value index, Value valid) {
  return LoadOp::create(b, b.getI32Type(), kernel.pointer(buffer), index, valid, b.i32(0));
}

/// The first reason that holds is the one reported.
void RequestReader::check(Finding &finding, Value wrong, host::Reason reason, Value value,
                          Value limit) {
  if (finding.report) {
    Value isNew = b.both(wrong, b.equal(finding.broken, b.boolean(false)));
    ReportOp::create(b, kernel.errorWord(), finding.number, value, limit,
                     static_cast<int64_t>(reason), isNew);
  }
  finding.broken = b.either(finding.broken, wrong);
}

/// Columns of the page table that a request has, whose list ends at `end`; a start outside the list
/// leaves none.
Value RequestReader::tableColumns(const Request &request, Value end) {
  Value table = tile::PagedOp(space.paged).getTable();
  if (!request.keys)
    return kernel.extent(table, 1);
  Value last = b.min(end, kernel.extent(table, 0)), zero = b.i32(0);
  return b.select(b.less(request.keys, zero), zero, b.sub(last, request.keys));
}

Value RequestReader::numberOf(Value chunk) { return b.add(b.mul(chunk, kWarp), lane); }

/// Row offsets; of dense keys their offsets, else the length, and where the table has row starts
/// those.
Values RequestReader::load(Value chunk) {
  Value number = numberOf(chunk), next = b.add(number, 1), valid = b.less(number, size);
  Values loaded;
  auto addOffsets = [&](Value offsets) {
    loaded.push_back(load(offsets, number, valid));
    loaded.push_back(load(offsets, next, valid));
  };
  addOffsets(space.rows);
  if (space.dense) {
    addOffsets(tile::DenseOp(space.dense).getRows());
    return loaded;
  }
  tile::PagedOp paged = space.paged;
  loaded.push_back(load(paged.getLens(), number, valid));
  if (paged.getStarts())
    addOffsets(paged.getStarts());
  return loaded;
}

Request RequestReader::check(Value chunk, ValueRange loaded, bool report) {
  attn::BoundsAttr bounds = space.maxima;
  Value zero = b.i32(0), number = numberOf(chunk), valid = b.less(number, size);
  Value begin = loaded[0], end = loaded[1], tableEnd;
  tile::PagedOp paged = space.paged;
  tile::DenseOp dense = space.dense;
  Request request{number, begin, b.sub(end, begin), {}, {}};
  if (dense) {
    request.keys = loaded[2];
    request.kvLen = b.sub(loaded[3], request.keys);
  } else {
    request.kvLen = loaded[2];
    if (paged.getStarts()) {
      request.keys = loaded[3];
      tableEnd = loaded[4];
    }
  }
  Value qLen = request.qLen, kvLen = request.kvLen;

  Finding finding{number, b.boolean(false), report};
  Value before = b.less(begin, zero), tokens = kernel.extent(space.query, 0);
  Value badRows = b.either(b.either(before, b.less(tokens, end)), b.less(qLen, zero));
  check(finding, badRows, host::Reason::Rows, b.select(before, begin, end), tokens);
  Value maxQLen = b.i32(bounds.getQLen()), maxKVLen = b.i32(bounds.getKvLen());
  check(finding, b.less(maxQLen, qLen), host::Reason::QueryLength, qLen, maxQLen);
  Value negative = b.less(kvLen, zero);
  if (dense) {
    Value last = b.add(request.keys, kvLen), all = kernel.extent(dense.getKey(), 0);
    Value outside = b.either(b.less(request.keys, zero), b.less(all, last));
    check(finding, b.either(outside, negative), host::Reason::KVRows, last, all);
  }
  check(finding, b.either(negative, b.less(maxKVLen, kvLen)), host::Reason::KVLength, kvLen,
        maxKVLen);
  for (Value table : space.ropeTables) {
    Value positions = kernel.extent(table, 0);
    check(finding, b.less(positions, kvLen), host::Reason::RopePosition, b.add(kvLen, -1),
          positions);
  }
  if (paged) {
    // Pages are compared, not keys: columns times the page size may not fit 32 bits.
    int64_t page = space.pageSize;
    Value columns = tableColumns(request, tableEnd);
    Value needed = b.ceilDivide(b.max(kvLen, zero), page);
    Value tooFew = b.both(b.less(columns, needed), valid);
    check(finding, tooFew, host::Reason::TableWidth, kvLen, b.mul(columns, page));
  }
  request.firstToken = b.select(badRows, zero, begin);
  // More rows than declared have no place in the grid's plan; their results are not written.
  Value absent = b.either(badRows, b.less(maxQLen, qLen));
  if (space.minQLen)
    absent = b.either(absent, b.less(qLen, b.i32(*space.minQLen)));
  if (space.maxQLen)
    absent = b.either(absent, b.less(b.i32(*space.maxQLen), qLen));
  request.qLen = b.select(absent, zero, qLen);
  request.kvLen = b.select(finding.broken, zero, kvLen);
  return request;
}

void RequestReader::report() {
  Value chunks = b.ceilDivide(size, kWarp);
  b.whileLoop(
      b.cta(), [&](ValueRange v) { return b.less(v[0], chunks); },
      [&](ValueRange v) {
        check(v[0], load(v[0]), /*report=*/true);
        return Values{b.add(v[0], b.ctas())};
      });
}

Request RequestReader::broadcast(const Request &lanes, Value chunk, Value from) {
  Values fields;
  for (Value field : lanes.fields())
    fields.push_back(b.shuffle(field, from));
  return Request::of(b.add(b.mul(chunk, kWarp), from), fields);
}
