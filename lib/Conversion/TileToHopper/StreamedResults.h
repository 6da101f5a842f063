//===- StreamedResults.h - packed rows and their results --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDRESULTS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDRESULTS_H

#include "StreamedSegments.h"

namespace pagefold::hopper {

/// Packed rows, an i32 or a vector of two, as query rows and heads of the group.
struct PackedRows {
  PackedRows(HopperBuilder &b, const FoldSpace &space, mlir::Value packed)
      : packed(packed), query(b.divide(packed, space.group)),
        inGroup(b.remainder(packed, space.group)) {}
  /// One of two.
  PackedRows element(HopperBuilder &b, int64_t i) const {
    return {b.element(packed, i), b.element(query, i), b.element(inGroup, i)};
  }

  mlir::Value packed, query, inGroup;

private:
  PackedRows(mlir::Value packed, mlir::Value query, mlir::Value inGroup)
      : packed(packed), query(query), inGroup(inGroup) {}
};

/// Where the results of one KV head of a request go, and what becomes of them before.
class StreamedResults {
public:
  StreamedResults(SpaceKernel &kernel, const FoldSpace &space, const Request &request,
                  mlir::Value kvHead)
      : kernel(kernel), b(kernel.builder()), space(space), request(request), kvHead(kvHead) {}

  /// Whether the request has the row.
  mlir::Value exists(const PackedRows &rows) { return b.less(rows.query, request.qLen); }
  mlir::Value head(const PackedRows &rows) {
    return b.add(b.mul(kvHead, space.group), rows.inGroup);
  }
  mlir::Value token(const PackedRows &rows) { return b.add(rows.query, request.firstToken); }
  mlir::Value position(const PackedRows &rows) {
    return b.add(rows.query, b.sub(request.kvLen, request.qLen));
  }
  /// The first element of a row of [tokens, heads, dim]; i64.
  mlir::Value rowStart(mlir::Value buffer, const PackedRows &row);
  /// The score of the row's sink; null where there is none.
  mlir::Value sink(const PackedRows &row);
  /// A result's factor times the scale of values of 8 bits.
  mlir::Value scaleValues(mlir::Value factor);
  /// The epilogue region.
  mlir::Value epilogue(mlir::Value value, const PackedRows &row, mlir::Value column);
  void storeLse(mlir::Value lse, const PackedRows &row, mlir::Value condition);

private:
  SpaceKernel &kernel;
  HopperBuilder &b;
  const FoldSpace &space;
  Request request;
  mlir::Value kvHead;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDRESULTS_H
