//===- Prefix.cpp - attn.shared_prefix and attn.cut_prefix ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "Operations.h"

#include <algorithm>

using namespace pagefold;
using namespace pagefold::oracle;

/// A promise changes nothing.
Status oracle::evaluateSharedPrefix(attn::SharedPrefixOp op, Environment &env) {
  env.set(op.getResult(), env.get(op.getCache()));
  return {};
}

namespace {
/// What the requests of a cache have: their rows, and the ids of their pages.
struct RequestPages {
  std::vector<int64_t> rows;
  std::vector<std::vector<int64_t>> pages;

  int64_t count() const { return static_cast<int64_t>(pages.size()); }
  int64_t rowsOf(int64_t r) const { return rows[r + 1] - rows[r]; }
};
} // namespace

/// Pages that all requests with rows have in common, before their rows and within `length` keys.
static int64_t commonPages(const RequestPages &requests, const Cache &cache, int64_t length) {
  int64_t common = std::max<int64_t>(length, 0) / cache.pageSize(), first = -1;
  for (int64_t r = 0; r < requests.count(); ++r) {
    if (!requests.rowsOf(r))
      continue;
    int64_t before = std::max<int64_t>(cache.lens[r] - requests.rowsOf(r), 0);
    common = std::min(common, before / cache.pageSize());
    first = first < 0 ? r : first;
    for (int64_t i = 0; i < common; ++i)
      if (requests.pages[r][i] != requests.pages[first][i])
        common = i;
  }
  return first < 0 ? 0 : common;
}

/// A cache over the same pages: of each request those from `skip` on, and so many keys.
static Result<CacheRef> partOf(const Cache &cache, const std::vector<std::vector<int64_t>> &pages,
                               int64_t skip, std::vector<int64_t> lens) {
  int64_t batch = static_cast<int64_t>(lens.size()), width = 1;
  for (int64_t r = 0; r < batch; ++r)
    width = std::max(width, static_cast<int64_t>(pages[r].size()) - skip);
  Result<Array> table = Array::make(DType::I32, {batch, width});
  if (!table)
    return tl::unexpected(table.error());
  for (int64_t r = 0; r < batch; ++r)
    for (int64_t i = skip; i < static_cast<int64_t>(pages[r].size()); ++i)
      table->storeIntegerAt(r * width + i - skip, pages[r][i]);
  return CacheRef(
      std::make_shared<Cache>(Cache{cache.k, cache.v, *table, std::nullopt, std::move(lens)}));
}

Status oracle::evaluateCutPrefix(attn::CutPrefixOp op, Environment &env) {
  CacheRef cache = env.cache(op.getCache());
  Result<std::vector<int64_t>> rows =
      readRows(op, *env.tensor(op.getRows()), env.tensor(op.getTokens())->dim(0), *cache);
  if (!rows)
    return tl::unexpected(rows.error());
  RequestPages requests{std::move(*rows), {}};
  int64_t first = -1;
  for (int64_t r = 0; r < cache->batch(); ++r) {
    Result<std::vector<int64_t>> pages = readPages(op, *cache, r);
    if (!pages)
      return tl::unexpected(pages.error());
    requests.pages.push_back(std::move(*pages));
    if (first < 0 && requests.rowsOf(r))
      first = r;
  }
  int64_t length = toIntegers(*env.tensor(op.getLength()))[0];
  int64_t common = commonPages(requests, *cache, length), keys = common * cache->pageSize();
  std::vector<int64_t> lens;
  for (int64_t r = 0; r < cache->batch(); ++r)
    lens.push_back(requests.rowsOf(r) ? std::max<int64_t>(cache->lens[r] - keys, 0) : 0);
  std::vector<int64_t> prefix;
  if (first >= 0)
    prefix.assign(requests.pages[first].begin(), requests.pages[first].begin() + common);
  Result<CacheRef> shared = partOf(*cache, {prefix}, 0, {keys}),
                   rest = partOf(*cache, requests.pages, common, std::move(lens));
  if (!shared || !rest)
    return tl::unexpected((shared ? rest : shared).error());
  auto all = std::make_shared<Tensor>(std::vector<int64_t>{2});
  all->values[1] = static_cast<double>(requests.rows.back());
  env.set(op.getShared(), *shared);
  env.set(op.getAll(), TensorRef(std::move(all)));
  env.set(op.getRest(), *rest);
  return {};
}
