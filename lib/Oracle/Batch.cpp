//===- Batch.cpp - requests of a ragged batch and their pages -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"

using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

static std::string request(int64_t r) { return "request " + std::to_string(r); }

Result<std::vector<int64_t>> oracle::readOffsets(mlir::Operation *op, const Tensor &offsets,
                                                 int64_t tokens, const std::string &what) {
  std::vector<int64_t> rows = toIntegers(offsets);
  if (rows.empty())
    return failAt(op, ErrorCode::BadInput, "expects " + what + " with batch + 1 entries, got none");
  for (size_t r = 0; r < rows.size(); ++r)
    if (rows[r] < (r ? rows[r - 1] : 0) || rows[r] > tokens)
      return failAt(op, ErrorCode::BadInput,
                    "expects " + what + " that never fall and stay in [0, " +
                        std::to_string(tokens) + "], got " + std::to_string(rows[r]) +
                        " at index " + std::to_string(r) + (r ? " (" + request(r - 1) + ")" : ""));
  return rows;
}

Result<std::vector<int64_t>> oracle::readRows(mlir::Operation *op, const Tensor &rows,
                                              int64_t tokens, const Cache &cache) {
  if (rows.dim(0) != cache.batch() + 1)
    return failAt(op, ErrorCode::BadInput,
                  "expects rows with " + std::to_string(cache.batch() + 1) +
                      " entries for a cache of " + std::to_string(cache.batch()) +
                      " requests, got " + std::to_string(rows.dim(0)));
  return readOffsets(op, rows, tokens, "rows");
}

/// Where a request's page ids begin in the table, and how many there are.
static std::pair<int64_t, int64_t> tableRow(const Cache &cache, int64_t r) {
  if (cache.starts)
    return {(*cache.starts)[r], (*cache.starts)[r + 1] - (*cache.starts)[r]};
  return {r * cache.table.strides()[0], cache.table.dim(1)};
}

Result<std::vector<int64_t>> oracle::readPages(mlir::Operation *op, const Cache &cache, int64_t r) {
  int64_t length = cache.lens[r], needed = (length + cache.pageSize() - 1) / cache.pageSize();
  if (length < 0)
    return failAt(op, ErrorCode::BadInput,
                  request(r) + " expects a length of at least 0, got " + std::to_string(length));
  auto [begin, width] = tableRow(cache, r);
  if (needed > width)
    return failAt(op, ErrorCode::BadInput,
                  request(r) + " needs " + std::to_string(needed) + " pages of " +
                      std::to_string(cache.pageSize()) + " tokens for its length " +
                      std::to_string(length) + ", got " + std::to_string(width) +
                      " entries in its row of the page table");
  int64_t stride = cache.table.strides().back(), pages = cache.pages();
  std::vector<int64_t> ids(needed);
  for (int64_t i = 0; i < needed; ++i) {
    ids[i] = cache.table.loadIntegerAt(cache.starts ? (begin + i) * stride : begin + i * stride);
    if (ids[i] < 0 || ids[i] >= pages)
      return failAt(op, ErrorCode::BadInput,
                    request(r) + " expects page ids in [0, " + std::to_string(pages) + "), got " +
                        std::to_string(ids[i]) + " as page " + std::to_string(i));
  }
  return ids;
}

std::vector<int64_t> oracle::tokenPositions(const std::vector<int64_t> &rows,
                                            const std::vector<int64_t> &lens, int64_t tokens) {
  std::vector<int64_t> positions(tokens, -1);
  for (size_t r = 0; r + 1 < rows.size(); ++r)
    for (int64_t token = rows[r]; token < rows[r + 1]; ++token)
      positions[token] = lens[r] - rows[r + 1] + token;
  return positions;
}

int64_t oracle::requestOf(const std::vector<int64_t> &rows, int64_t token) {
  for (size_t r = 0; r + 1 < rows.size(); ++r)
    if (rows[r] <= token && token < rows[r + 1])
      return static_cast<int64_t>(r);
  return -1;
}
