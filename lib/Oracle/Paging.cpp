//===- Paging.cpp - attn.cache and attn.append ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "Operations.h"

using namespace pagefold;
using namespace pagefold::oracle;
using runtime::ErrorCode;

/// Pages as [pages, page, heads, dim], with their scales, null where they have none.
static Result<Pages> pagesOf(attn::CacheOp op, mlir::Value value, mlir::Value scale,
                             Environment &env) {
  auto *array = std::get_if<Array>(&env.get(value));
  if (!array)
    return failAt(op, ErrorCode::Unsupported,
                  "the oracle wants pages to be arguments of the function, or reshapes of them");
  const int64_t order[] = {0, 2, 1, 3};
  Array pages = op.getLayout() == attn::Layout::NHD ? *array : array->permuted(order);
  std::vector<double> scales =
      scale ? env.tensor(scale)->values : std::vector<double>(pages.dim(2), 1.0);
  if (static_cast<int64_t>(scales.size()) != pages.dim(2))
    return failAt(op, ErrorCode::BadInput,
                  "expects scales of " + std::to_string(pages.dim(2)) + " heads, got " +
                      std::to_string(scales.size()));
  return Pages{std::move(pages), std::move(scales)};
}

/// Row starts of a list of pages, within it.
static Result<std::vector<int64_t>> startsOf(attn::CacheOp op, int64_t batch, const Array &table,
                                             Environment &env) {
  TensorRef starts = env.tensor(op.getStarts());
  if (starts->dim(0) != batch + 1)
    return failAt(op, ErrorCode::BadInput,
                  "expects starts with " + std::to_string(batch + 1) + " entries for " +
                      std::to_string(batch) + " lengths, got " + std::to_string(starts->dim(0)));
  return readOffsets(op, *starts, table.dim(0), "starts of the table");
}

Status oracle::evaluateCache(attn::CacheOp op, Environment &env) {
  Result<Pages> k = pagesOf(op, op.getKPages(), op.getKScale(), env),
                v = pagesOf(op, op.getVPages(), op.getVScale(), env);
  auto *table = std::get_if<Array>(&env.get(op.getTable()));
  if (!k || !v)
    return tl::unexpected((k ? v : k).error());
  if (!table)
    return failAt(op, ErrorCode::Unsupported,
                  "the oracle wants the page table to be an argument of the function");
  if (k->array.dim(0) != v->array.dim(0))
    return failAt(op, ErrorCode::BadInput,
                  "expects as many V pages as K pages, got " + std::to_string(v->array.dim(0)) +
                      " and " + std::to_string(k->array.dim(0)));
  auto cache = std::make_shared<Cache>(
      Cache{*k, *v, *table, std::nullopt, toIntegers(*env.tensor(op.getLens()))});
  if (op.getStarts()) {
    Result<std::vector<int64_t>> starts = startsOf(op, cache->batch(), *table, env);
    if (!starts)
      return tl::unexpected(starts.error());
    cache->starts = std::move(*starts);
  } else if (table->dim(0) != cache->batch()) {
    return failAt(op, ErrorCode::BadInput,
                  "expects a page table with a row for each of " + std::to_string(cache->batch()) +
                      " lengths, got " + std::to_string(table->dim(0)) + " rows");
  }
  env.set(op.getCache(), CacheRef(std::move(cache)));
  return {};
}

/// Writes one token's rows of all heads to (page, slot), over their scale and rounded to the pages'
/// type.
static void store(const Tensor &rows, int64_t token, const Pages &pages, int64_t page,
                  int64_t slot) {
  for (int64_t head = 0; head < rows.dim(1); ++head) {
    const double *row = rows.row(token, head);
    const int64_t index[] = {page, slot, head, 0};
    Array to = pages.array;
    int64_t at = to.offset(index), stride = to.strides()[3];
    for (int64_t d = 0; d < rows.dim(2); ++d)
      to.storeAt(at + d * stride, row[d] / pages.scales[head]);
  }
}

Status oracle::evaluateAppend(attn::AppendOp op, Environment &env) {
  CacheRef cache = env.cache(op.getCache());
  Result<TensorRef> key =
      evaluatePrologue(op.getKeyPrologue(), env.tensor(op.getKey()), op.getKeyCaptures(), env);
  Result<TensorRef> value = evaluatePrologue(op.getValuePrologue(), env.tensor(op.getValue()),
                                             op.getValueCaptures(), env);
  if (!key || !value)
    return tl::unexpected((key ? value : key).error());
  Result<std::vector<int64_t>> rows =
      readRows(op, *env.tensor(op.getRows()), (*key)->dim(0), *cache);
  if (!rows)
    return tl::unexpected(rows.error());
  for (int64_t r = 0; r < cache->batch(); ++r) {
    int64_t begin = (*rows)[r], end = (*rows)[r + 1];
    if (begin == end)
      continue;
    Result<std::vector<int64_t>> pages = readPages(op, *cache, r);
    if (!pages)
      return tl::unexpected(pages.error());
    for (int64_t token = begin; token < end; ++token) {
      int64_t position = cache->lens[r] - end + token;
      if (position < 0)
        continue;
      int64_t page = (*pages)[position / cache->pageSize()], slot = position % cache->pageSize();
      store(**key, token, cache->k, page, slot);
      store(**value, token, cache->v, page, slot);
    }
  }
  env.set(op.getResult(), cache);
  return {};
}
