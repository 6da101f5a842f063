//===- TextTable.h - columns for a terminal ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_TEXTTABLE_H
#define PAGEFOLD_REPORT_TEXTTABLE_H

#include <string>
#include <vector>

namespace pagefold::report {

/// Rows of cells, padded to columns: the first to the left, the others to the right. The first
/// row added is the head.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> head) { rows.push_back(std::move(head)); }
  /// Fewer cells than the head has columns leave the rest empty.
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  /// With every line indented; ends in a newline.
  std::string text(size_t indent = 2) const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// Columns of a terminal that a UTF-8 text takes, for the characters that we print.
size_t displayWidth(const std::string &text);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_TEXTTABLE_H
