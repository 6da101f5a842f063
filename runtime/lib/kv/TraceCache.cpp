//===- TraceCache.cpp - hit rates of a trace of block ids -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/TraceCache.h"

#include "PageCache.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

using namespace pagefold::runtime;

/// The trace's id says all that a hash would: it stands for the block and everything before it.
static PageHash hashOfId(int32_t id) {
  PageHash hash;
  uint64_t spread = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15ull;
  spread ^= spread >> 32;
  std::memcpy(hash.bytes.data(), &spread, sizeof(spread));
  return hash;
}

static KvCacheOptions cacheOptions(const TraceCacheOptions &options) {
  return {
      .numPages = options.capacity, .pageSize = 1, .eviction = options.eviction, .missMemory = -1};
}

class TraceCache::Impl {
public:
  explicit Impl(const TraceCacheOptions &options)
      : cache(cacheOptions(options), counters_), owner_(cache.owners().acquire("trace")) {}

  TraceLookup access(std::span<const int32_t> ids);

private:
  KvCounters counters_;

public:
  PageCache cache;

private:
  OwnerId owner_;
  std::unordered_set<int32_t> seen_;
  PrefixFound found_;
};

TraceLookup TraceCache::Impl::access(std::span<const int32_t> ids) {
  std::vector<PageHash> hashes;
  for (int32_t id : ids)
    hashes.push_back(hashOfId(id));
  PrefixView view{owner_, hashes, ids};
  cache.find(view, found_);

  TraceLookup result;
  result.blocks = static_cast<int32_t>(ids.size());
  result.hitBlocks = static_cast<int32_t>(found_.pages.size());
  for (int32_t id : ids.subspan(result.hitBlocks))
    ++(seen_.contains(id) ? result.evictedBlocks : result.coldBlocks);
  seen_.insert(ids.begin(), ids.end());

  // The prompt holds its own blocks only while it is inserted: it must not evict its own beginning.
  std::vector<PageId> held = found_.pages;
  uint32_t touch = cache.nextTouch();
  for (PageId page : held)
    cache.use(page, {}, touch);
  for (size_t i = held.size(); i < ids.size() && cache.available() > 0; ++i) {
    PageId page = cache.allocate(owner_);
    PageId parent = held.empty() ? kNoPage : held.back();
    cache.insert(
        page, {.hash = hashes[i], .parent = parent, .tokens = ids.subspan(i, 1), .rawTokens = {}},
        {});
    held.push_back(page);
  }
  for (size_t i = held.size(); i-- > 0;)
    cache.release(held[i], touch);
  return result;
}

TraceCache::TraceCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceCache::~TraceCache() = default;

Result<std::unique_ptr<TraceCache>> TraceCache::create(const TraceCacheOptions &options) {
  if (options.capacity < 1)
    return fail(ErrorCode::InvalidArgument,
                "TraceCache expects a capacity of at least one block, got " +
                    std::to_string(options.capacity));
  return std::unique_ptr<TraceCache>(new TraceCache(std::make_unique<Impl>(options)));
}

Result<TraceLookup> TraceCache::access(std::span<const int32_t> blockIds) {
  for (int32_t id : blockIds)
    if (id < 0)
      return fail(ErrorCode::BadInput,
                  "TraceCache expects block ids of 0 or more, got " + std::to_string(id));
  return impl_->access(blockIds);
}

int32_t TraceCache::size() const {
  return impl_->cache.pool().size() - impl_->cache.pool().numFree();
}
