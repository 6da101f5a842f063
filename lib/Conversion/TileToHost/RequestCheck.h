//===- RequestCheck.h - what a request's data must fulfil -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks of tile.batch on one request. On the host one worker makes them for all requests
// before any kernel that uses them; on the GPU every kernel makes those that it needs.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_REQUESTCHECK_H
#define PAGEFOLD_CONVERSION_TILETOHOST_REQUESTCHECK_H

#include "Kernel.h"

namespace pagefold::host {

class RequestCheck {
public:
  RequestCheck(Kernel &kernel, tile::BatchOp op) : kernel(kernel), b(kernel.builder()), op(op) {}

  /// Checks row offsets, lengths and the width of the table. The request has no rows where its
  /// offsets are broken, and its length as it was read: see usable().
  Request readExtents(mlir::Value number, Finding &finding);

  /// Walks the part of the page table that the length needs, if nothing is wrong so far; finds the
  /// first id outside the pool. Does nothing where there are no pages.
  void checkPages(const Request &request, Finding &finding);

  /// The request without keys, if something is wrong. It keeps its rows, so that their results are
  /// written.
  Request usable(const Request &request, const Finding &finding);

  /// A finding that is none.
  Finding nothing();

  /// Notes `value` and `limit` if nothing was wrong before and `wrong` holds.
  void note(Finding &finding, mlir::Value wrong, Reason reason, mlir::Value value,
            mlir::Value limit);

private:
  void checkLength(mlir::Value kvLen, Finding &finding);
  void checkKeyRows(tile::DenseOp dense, mlir::Value request, Finding &finding);
  void checkColumns(tile::PagedOp paged, mlir::Value request, mlir::Value kvLen, Finding &finding);
  mlir::Value tableColumns(tile::PagedOp paged, mlir::Value request);

  Kernel &kernel;
  HostBuilder &b;
  tile::BatchOp op;
};

/// i1: whether `id` is no page of a pool of `pages`.
mlir::Value isOutsidePool(HostBuilder &b, mlir::Value id, mlir::Value pages);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_REQUESTCHECK_H
