//===- MaskOnRows.cpp - the mask of a space on level 3 --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskOnRows.h"
#include "Elements.h"

using namespace mlir;
using namespace pagefold;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// What a mask is bound to
//===----------------------------------------------------------------------===//

MaskValues::MaskValues(SpaceKernel &kernel, const FoldSpace &space, const Request &request,
                       Value valid)
    : kernel(kernel), b(kernel.builder()), space(space), request(request), valid(valid) {
  for (Value symbol : space.maskSymbols) {
    if (isa<MemRefType>(symbol.getType()))
      symbols.push_back(loadElement(kernel, symbol, {request.number}, valid));
    else
      symbols.push_back(kernel.scalar(symbol));
  }
}

Values MaskValues::rowValues(Value q) {
  Values values;
  for (Value table : space.maskRowValues)
    values.push_back(loadOfRows(kernel, table, b.add(q, request.firstToken), valid));
  return values;
}

VisitContext MaskValues::context(Value qlo, Value qhi) {
  VisitContext context;
  context.qlo = qlo;
  context.qhi = qhi;
  context.qLen = request.qLen;
  context.kvLen = request.kvLen;
  context.symbols = symbols;
  if (qlo)
    for (auto [low, high] : llvm::zip(rowValues(qlo), rowValues(qhi)))
      context.rows.push_back({low, high});
  context.tileSize = space.kvTile;
  return context;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

ScoreMask::ScoreMask(SpaceKernel &kernel, const FoldSpace &space, const Request &request, Value q)
    : b(kernel.builder()), space(space), values(kernel, space, request), request(request), q(q),
      rowValues(values.rowValues(q)) {
  std::optional<RowInterval> interval = emitRowInterval(
      b, b.getLoc(), space.maskSets, {q, Value(), rowValues}, values.context({}, {}));
  if (!interval)
    return;
  Value like = q;
  auto onRows = [&](Value limit) {
    if (limit)
      b.unify(limit, like);
    return limit;
  };
  isInterval = true;
  from = onRows(interval->from);
  below = onRows(interval->below);
}

Value ScoreMask::applyToElements(Value scores, Value firstKey) {
  Values rows{q};
  rows.append(rowValues);
  return mapElements(b, scores, rows, [&](Value score, ValueRange row, Value column) {
    MaskPoint point;
    point.q = row[0];
    point.k = b.add(firstKey, column);
    point.rows.append(row.begin() + 1, row.end());
    Value visible = emitVisible(b, b.getLoc(), space.maskSets, point, values.context({}, {}));
    return b.select(visible, score, b.f32(-std::numeric_limits<double>::infinity()));
  });
}

Value ScoreMask::apply(Value scores, Value firstKey) {
  if (!isInterval)
    return applyToElements(scores, firstKey);
  auto relative = [&](Value limit) { return limit ? b.sub(limit, firstKey) : Value(); };
  return MaskOp::create(b, scores.getType(), scores, relative(from), relative(below));
}

Value ScoreMask::visible(Value key) {
  if (!isInterval) {
    MaskPoint point;
    point.q = q;
    point.k = key;
    point.rows = rowValues;
    return emitVisible(b, b.getLoc(), space.maskSets, point, values.context({}, {}));
  }
  Value inside;
  if (below)
    inside = b.less(key, below);
  if (from) {
    Value behind = b.atLeast(key, from);
    inside = inside ? b.both(inside, behind) : behind;
  }
  return inside;
}
