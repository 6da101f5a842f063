//===- PageTable.h - the page table and what changed in it ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_PAGETABLE_H
#define PAGEFOLD_RUNTIME_LIB_KV_PAGETABLE_H

#include "pagefold/runtime/PageTypes.h"

#include <span>
#include <vector>

namespace pagefold::runtime {

/// The host's copy of the device's table, [rows, columns], padded with kNoPage, and for each row
/// the range of columns that changed since the last drain.
class PageTable {
public:
  PageTable(int32_t rows, int32_t columns);

  int32_t rows() const { return static_cast<int32_t>(changes_.size()); }
  int32_t columns() const { return columns_; }
  bool hasFreeRow() const { return !freeRows_.empty(); }
  int32_t takeRow();
  /// The row must be cleared.
  void giveRow(int32_t row) { freeRows_.push_back(row); }
  size_t numFreeRows() const { return freeRows_.size(); }

  PageId at(int32_t row, int32_t column) const { return entries_[index(row, column)]; }
  std::span<const PageId> row(int32_t row) const {
    return {&entries_[index(row, 0)], size_t(columns_)};
  }
  void set(int32_t row, int32_t column, PageId page);

  void drainInto(std::vector<TableUpdate> &updates);
  const std::vector<PageId> &entries() const { return entries_; }

private:
  struct Range {
    int32_t begin = 0;
    int32_t end = 0;
  };
  size_t index(int32_t row, int32_t column) const { return size_t(row) * columns_ + column; }

  int32_t columns_;
  std::vector<PageId> entries_;
  std::vector<int32_t> freeRows_;
  std::vector<Range> changes_;       ///< for each row
  std::vector<int32_t> changedRows_; ///< those with a range that is not empty
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_PAGETABLE_H
