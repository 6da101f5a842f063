//===- Pool.cpp - a generated pool of pages -------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>

using namespace pagefold;
using namespace pagefold::run;

static int64_t pagesFor(int64_t length, int64_t pageSize) {
  return (length + pageSize - 1) / pageSize;
}

Result<Pool> Pool::draw(const CacheParameters &cache, const Batch &batch,
                        std::optional<int64_t> pages, std::mt19937_64 &random) {
  Pool pool;
  pool.pageSize_ = cache.type.getPageSize();
  // The pages that a request has in common with the others: whole ones before its rows.
  auto sharedBy = [&](int64_t r) {
    return std::max<int64_t>(std::min(batch.shared, batch.lens[r] - batch.qLens[r]), 0) /
           pool.pageSize_;
  };
  int64_t needed = 0, mostShared = 0;
  for (int64_t r = 0; r < batch.size(); ++r) {
    needed += pagesFor(batch.lens[r], pool.pageSize_) - sharedBy(r);
    mostShared = std::max(mostShared, sharedBy(r));
  }
  needed += mostShared;
  pool.pages_ = pages.value_or(needed + needed / 8 + 1); // some that nobody owns
  if (pool.pages_ < needed)
    return fail(ErrorCode::InvalidArgument, "the lengths need " + std::to_string(needed) +
                                                " pages of " + std::to_string(pool.pageSize_) +
                                                " tokens, the pool has " +
                                                std::to_string(pool.pages_));
  // Nothing here is as large as the pool, which may be larger than memory: that is told when it is
  // allocated.
  llvm::DenseSet<int64_t> taken;
  auto drawUpTo = [&](std::vector<int64_t> &ids, int64_t count) {
    while (static_cast<int64_t>(ids.size()) < count) {
      auto id = static_cast<int64_t>(random() % static_cast<uint64_t>(pool.pages_));
      if (taken.insert(id).second)
        ids.push_back(id);
    }
  };
  std::vector<int64_t> prefix;
  drawUpTo(prefix, mostShared);
  for (int64_t r = 0; r < batch.size(); ++r) {
    std::vector<int64_t> &ids = pool.table_.emplace_back(prefix);
    ids.resize(sharedBy(r));
    drawUpTo(ids, pagesFor(batch.lens[r], pool.pageSize_));
  }
  pool.own(cache, batch);
  return pool;
}

Pool Pool::fromTable(const CacheParameters &cache, const Batch &batch, const Array &table,
                     const Array *starts, std::optional<int64_t> pages) {
  Pool pool;
  pool.pageSize_ = cache.type.getPageSize();
  int64_t greatest = -1, rank = table.rank();
  for (int64_t r = 0; r < batch.size(); ++r) {
    std::vector<int64_t> &ids = pool.table_.emplace_back();
    int64_t begin = 0, width = 0;
    if (starts && r + 1 < starts->size()) {
      begin = starts->loadIntegerAt(r);
      width = starts->loadIntegerAt(r + 1) - begin;
    } else if (rank == 2 && r < table.dim(0)) {
      begin = r * table.strides()[0];
      width = table.dim(1);
    }
    for (int64_t i = 0; i < std::min(width, pagesFor(batch.lens[r], pool.pageSize_)); ++i) {
      int64_t at = begin + i * table.strides().back();
      ids.push_back(at >= 0 && (rank == 2 || at < table.size()) ? table.loadIntegerAt(at) : -1);
      if (ids.back() < (int64_t{1} << 24)) // a wild id sizes no pool
        greatest = std::max(greatest, ids.back());
    }
  }
  pool.pages_ = pages.value_or(greatest + 1);
  pool.own(cache, batch);
  return pool;
}

void Pool::own(const CacheParameters &cache, const Batch &batch) {
  for (int64_t r = 0; r < batch.size(); ++r) {
    int64_t stored = batch.lens[r] - (cache.appended ? batch.qLens[r] : 0);
    for (int64_t id : table_[r]) {
      int64_t slots = std::clamp<int64_t>(stored, 0, pageSize_);
      if (id >= 0 && id < pages_)
        stored_[id] = std::max(stored_.lookup(id), slots);
      stored -= slots;
    }
  }
}

/// A view of the pages whose first lies at `offset` of the pool, in the order that the graph
/// declares.
static Result<Array> viewPages(const Array &pool, const CacheParameters &cache, int64_t dim,
                               int64_t pageStride, int64_t offset, bool headMajor) {
  int64_t slots = cache.type.getPageSize(), heads = cache.type.getHeads();
  int64_t slotStride = headMajor ? dim : heads * dim, headStride = headMajor ? slots * dim : dim;
  int64_t pages = pageStride ? pool.size() / pageStride : 0;
  Result<Array> view =
      pool.view({pages, slots, heads, dim}, {pageStride, slotStride, headStride, 1}, offset);
  if (!view || cache.layout == attn::Layout::NHD)
    return view;
  const int64_t order[] = {0, 2, 1, 3};
  return view->permuted(order);
}

Result<std::pair<Array, Array>> run::allocatePages(const CacheParameters &cache, DType dtype,
                                                   int64_t pages, MemoryLayout layout) {
  int64_t rows = cache.type.getPageSize() * cache.type.getHeads();
  int64_t kSize = rows * cache.type.getKDim(), vSize = rows * cache.type.getVDim();
  bool headMajor = layout == MemoryLayout::HND ||
                   (layout == MemoryLayout::AsDeclared && cache.layout == attn::Layout::HND);
  bool shared = layout == MemoryLayout::Interleaved; // a page's K, then its V
  Result<Array> kPool = Array::make(dtype, {pages, shared ? kSize + vSize : kSize});
  Result<Array> vPool = shared ? kPool : Array::make(dtype, {pages, vSize});
  if (!kPool || !vPool)
    return tl::unexpected((kPool ? vPool : kPool).error());
  Result<Array> k = viewPages(*kPool, cache, cache.type.getKDim(), kPool->dim(1), 0, headMajor);
  Result<Array> v =
      viewPages(*vPool, cache, cache.type.getVDim(), vPool->dim(1), shared ? kSize : 0, headMajor);
  if (!k || !v)
    return tl::unexpected((k ? v : k).error());
  return std::pair(*k, *v);
}
