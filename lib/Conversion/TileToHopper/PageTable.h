//===- PageTable.h - finding the pages of a cache ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane reads page ids from the table, each of one key, and checks them against the pool once they
// are needed: a check at once would wait for them.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGETABLE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGETABLE_H

#include "Requests.h"

namespace pagefold::hopper {

class PageTable {
public:
  /// What a lane finds where it looks for no page.
  static constexpr int64_t kNoPage = std::numeric_limits<int32_t>::min();
  struct Checked {
    mlir::Value page; ///< -1 where none was looked for or the id is outside the pool
    mlir::Value isBroken;
  };

  /// Requires a paged space.
  PageTable(SpaceKernel &kernel, const FoldSpace &space);
  /// The table's entry for key `key` of the request, if it has that key and `wanted`.
  mlir::Value find(const Request &request, mlir::Value key, mlir::Value wanted);
  /// What was found, once it is needed: a check at once would wait for it.
  Checked check(mlir::Value found);
  void report(const Request &request, mlir::Value id, mlir::Value isBroken);
  /// Checks several, and reports.
  Values settle(const Request &request, mlir::ValueRange found);

private:
  SpaceKernel &kernel;
  HopperBuilder &b;
  const FoldSpace &space;
  mlir::Value pages; ///< of the smaller pool, where those of K and V differ
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_PAGETABLE_H
