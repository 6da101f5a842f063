//===- LengthFile.cpp - lengths of requests from a file -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LengthFile.h"

#include "pagefold/Support/ArrayFiles.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace pagefold;
using namespace pagefold::run;
using llvm::StringRef;

static llvm::SmallVector<StringRef> fieldsOf(StringRef line) {
  llvm::SmallVector<StringRef> fields;
  line.split(fields, ',');
  for (StringRef &field : fields)
    field = field.trim().trim('"');
  return fields;
}

/// The column's number from 0; `header` says whether the first line names columns.
static Result<size_t> findColumn(StringRef column, StringRef firstLine, const std::string &path,
                                 bool &header) {
  size_t number;
  llvm::SmallVector<StringRef> fields = fieldsOf(firstLine);
  int64_t ignored;
  header = !column.empty() &&
           llvm::any_of(fields, [&](StringRef field) { return field.getAsInteger(10, ignored); });
  if (column.empty())
    return 0;
  if (!column.getAsInteger(10, number) && number >= 1)
    return number - 1;
  for (auto [i, field] : llvm::enumerate(fields))
    if (field == column)
      return i;
  return fail(ErrorCode::NotFound,
              "'" + path + "' has no column '" + column.str() + "', only: " + firstLine.str());
}

Result<std::vector<int64_t>> run::readLengthFile(const std::string &spec) {
  auto [path, column] = StringRef(spec).rsplit(':');
  Result<std::string> text = readFile(path.str());
  if (!text)
    return tl::unexpected(text.error());
  llvm::SmallVector<StringRef> lines;
  StringRef(*text).split(lines, '\n');
  bool header = false;
  Result<size_t> at = findColumn(column, lines.front().trim(), path.str(), header);
  if (!at)
    return tl::unexpected(at.error());

  std::vector<int64_t> lengths;
  for (auto [number, line] : llvm::enumerate(lines)) {
    StringRef trimmed = line.split('#').first.trim();
    if (trimmed.empty() || (header && number == 0))
      continue;
    llvm::SmallVector<StringRef> fields = fieldsOf(trimmed);
    int64_t length;
    if (*at >= fields.size() || fields[*at].getAsInteger(10, length) || length < 0 ||
        length > INT32_MAX)
      return fail(ErrorCode::BadInput, path.str() + ":" + std::to_string(number + 1) +
                                           ": expects a length from 0 to 2147483647 in column " +
                                           std::to_string(*at + 1) + ", got '" + trimmed.str() +
                                           "'");
    lengths.push_back(length);
  }
  if (lengths.empty())
    return fail(ErrorCode::BadInput, "'" + path.str() + "' holds no lengths");
  return lengths;
}
