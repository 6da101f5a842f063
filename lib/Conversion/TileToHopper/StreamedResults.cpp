//===- StreamedResults.cpp - packed rows and their results ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamedResults.h"
#include "Elements.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

Value StreamedResults::rowStart(Value buffer, const PackedRows &row) {
  return kernel.rowStart(buffer, {token(row), head(row)});
}

Value StreamedResults::sink(const PackedRows &row) {
  return space.sinks ? loadElement(kernel, space.sinks, {head(row)}) : Value();
}

Value StreamedResults::scaleValues(Value factor) {
  tile::PagedOp paged = space.paged;
  if (!paged || !paged.getVScale())
    return factor;
  return b.mulF(factor, loadElement(kernel, paged.getVScale(), {kvHead}));
}

Value StreamedResults::epilogue(Value value, const PackedRows &row, Value column) {
  if (!space.epilogue)
    return value;
  return emitRegion(kernel, *space.epilogue,
                    {value, row.query, head(row), column, position(row), token(row)});
}

void StreamedResults::storeLse(Value lse, const PackedRows &row, Value condition) {
  StoreOp::create(b, lse, kernel.pointer(space.lse), rowStart(space.lse, row), condition);
}
