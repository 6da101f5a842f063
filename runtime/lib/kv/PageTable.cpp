//===- PageTable.cpp - the page table and what changed in it --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageTable.h"

#include <algorithm>

using namespace pagefold::runtime;

PageTable::PageTable(int32_t rows, int32_t columns)
    : columns_(columns), entries_(size_t(rows) * columns, kNoPage), changes_(rows) {
  for (int32_t row = rows - 1; row >= 0; --row)
    freeRows_.push_back(row);
}

int32_t PageTable::takeRow() {
  int32_t row = freeRows_.back();
  freeRows_.pop_back();
  return row;
}

void PageTable::set(int32_t row, int32_t column, PageId page) {
  PageId &entry = entries_[index(row, column)];
  if (entry == page)
    return;
  entry = page;
  Range &range = changes_[row];
  if (range.begin == range.end) {
    changedRows_.push_back(row);
    range = {column, column + 1};
    return;
  }
  range.begin = std::min(range.begin, column);
  range.end = std::max(range.end, column + 1);
}

void PageTable::drainInto(std::vector<TableUpdate> &updates) {
  for (int32_t row : changedRows_) {
    Range &range = changes_[row];
    for (int32_t column = range.begin; column < range.end; ++column)
      updates.push_back({row, column, at(row, column)});
    range = Range();
  }
  changedRows_.clear();
}
