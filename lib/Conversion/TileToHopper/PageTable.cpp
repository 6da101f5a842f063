//===- PageTable.cpp - finding the pages of a cache -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageTable.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

PageTable::PageTable(SpaceKernel &kernel, const FoldSpace &space)
    : kernel(kernel), b(kernel.builder()), space(space) {
  tile::PagedOp paged = space.paged;
  pages = b.min(kernel.extent(paged.getKPages(), 0), kernel.extent(paged.getVPages(), 0));
}

Value PageTable::find(const Request &request, Value key, Value wanted) {
  tile::PagedOp paged = space.paged;
  wanted = b.both(b.both(b.atLeast(key, b.i32(0)), b.less(key, request.kvLen)), wanted);
  Value column = b.divide(key, space.pageSize), index;
  if (request.keys)
    index = b.widen(b.add(request.keys, column));
  else
    index =
        b.add(b.mul(b.widen(request.number), kernel.stride(paged.getTable(), 0)), b.widen(column));
  return LoadOp::create(b, b.getI32Type(), kernel.pointer(paged.getTable()), index, wanted,
                        b.i32(kNoPage));
}

PageTable::Checked PageTable::check(Value found) {
  Value outside = b.compare(arith::CmpIPredicate::uge, found, pages);
  Value some = b.compare(arith::CmpIPredicate::ne, found, b.i32(kNoPage));
  return {b.select(outside, b.i32(-1), found), b.both(outside, some)};
}

void PageTable::report(const Request &request, Value id, Value isBroken) {
  ReportOp::create(b, kernel.errorWord(), request.number, id, pages,
                   static_cast<int64_t>(host::Reason::PageId), isBroken);
}

/// One report: of several broken ids the last.
Values PageTable::settle(const Request &request, ValueRange found) {
  Value broken = b.boolean(false), id = found.front();
  Values settled;
  for (Value page : found) {
    Checked checked = check(page);
    id = b.select(checked.isBroken, page, id);
    broken = b.either(broken, checked.isBroken);
    settled.push_back(checked.page);
  }
  report(request, id, broken);
  return settled;
}
