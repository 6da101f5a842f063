//===- PagedSource.h - finding the pages of a cache -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all sources of pages share: a lane reads page ids from the table, each of one key of the
// tile, and checks them against the pool once they are needed.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H

#include "KVSource.h"

namespace pagefold::hopper {

class PagedSource : public KVSource {
public:
  bool usesOneLane() const override { return false; }
  /// Page ids, -1 where none was looked for or the id is outside the pool, which is reported.
  Values settle(const Request &request, mlir::ValueRange found) override;

protected:
  PagedSource(SpaceKernel &kernel, const PipelinedSpace &space);
  /// The table's entry for key `key` of the request, if it has that key and `wanted`.
  mlir::Value findPage(const Request &request, mlir::Value key, mlir::Value wanted);

private:
  mlir::Value pages; ///< of the smaller pool, where those of K and V differ
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGEDSOURCE_H
