//===- PageCache.cpp - pages that can be found again ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageCache.h"

#include <algorithm>
#include <cassert>
#include <limits>

using namespace pagefold::runtime;

static size_t missEntries(const KvCacheOptions &options) {
  if (options.missMemory < 0)
    return 0;
  return options.missMemory == 0 ? options.numPages : options.missMemory;
}

PageCache::PageCache(const KvCacheOptions &options, KvCounters &counters)
    : counters_(counters), observer_(options.observer), pool_(options.numPages, options.pageSize),
      hashes_(pool_), siblings_(pool_), queue_(pool_, options.eviction), lifetimes_(pool_),
      misses_(missEntries(options)) {}

//===----------------------------------------------------------------------===//
// Pages and their users
//===----------------------------------------------------------------------===//

PageId PageCache::allocate(OwnerId owner) {
  if (pool_.numFree() == 0)
    evict(1);
  PageId page = pool_.take(owner);
  owners_.hold(owner);
  ++counters_.allocations;
  if (observer_)
    observer_->pageAllocated({page, owner});
  return page;
}

void PageCache::addUser(PageId id) {
  if (pool_[id].idle()) {
    if (pool_[id].queued())
      queue_.erase(id);
    lifetimes_.becameLive(id);
  }
  pool_.addUser(id);
}

void PageCache::use(PageId id, const Retention &retention, uint32_t touch) {
  addUser(id);
  Page &page = pool_[id];
  page.lastTouch = touch;
  page.priority = std::max(page.priority, retention.priority);
  queue_.countUse(id);
  lifetimes_.extend(id, retention.ttl);
  if (observer_)
    observer_->pageTouched(id);
}

void PageCache::release(PageId id, uint32_t touch) {
  if (!pool_.dropUser(id))
    return;
  if (pool_[id].state == PageState::Private)
    putBack(id);
  else
    becomeIdle(id, touch);
}

void PageCache::becomeIdle(PageId id, uint32_t touch) {
  pool_[id].lastTouch = touch;
  lifetimes_.becameIdle(id);
  if (pool_[id].children == 0)
    queue_.push(id);
  if (observer_)
    observer_->pageTouched(id);
}

void PageCache::putBack(PageId id) {
  ++counters_.frees;
  if (observer_)
    observer_->pageFreed(id);
  owners_.release(pool_[id].owner);
  pool_.putBack(id);
}

uint32_t PageCache::nextTouch() {
  if (lastTouch_ == std::numeric_limits<uint32_t>::max())
    renumberTouches();
  return ++lastTouch_;
}

/// The counter is full after four billion touches: number the pages afresh, in the same order.
void PageCache::renumberTouches() {
  std::vector<PageId> cached;
  for (PageId id = 0; id < pool_.size(); ++id)
    if (pool_[id].state == PageState::Cached)
      cached.push_back(id);
  std::sort(cached.begin(), cached.end(),
            [&](PageId a, PageId b) { return pool_[a].lastTouch < pool_[b].lastTouch; });
  uint32_t before = 0, number = 0;
  for (PageId id : cached) {
    if (number == 0 || pool_[id].lastTouch != before)
      ++number;
    before = pool_[id].lastTouch;
    pool_[id].lastTouch = number;
  }
  lastTouch_ = number;
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Without early exit, which vectorises: a page with the right hash almost always is the right one.
static bool sameTokens(const TokenId *a, const TokenId *b, int32_t count) {
  TokenId difference = 0;
  for (int32_t i = 0; i < count; ++i)
    difference |= a[i] ^ b[i];
  return difference == 0;
}

PageId PageCache::findPage(const PrefixView &prefix, size_t index, PageId parent) const {
  const TokenId *tokens = prefix.tokens.data() + index * pageSize();
  return hashes_.find(prefix.hashes[index], [&](PageId id) {
    const Page &page = pool_[id];
    return page.parent == parent && page.owner == prefix.owner && page.tokens == pageSize() &&
           sameTokens(pool_.tokens(id).data(), tokens, pageSize());
  });
}

void PageCache::find(const PrefixView &prefix, PrefixFound &found) const {
  // How many pages ahead each step of the chase is taken (see HashIndex).
  constexpr size_t kBucketAhead = 48, kPageAhead = 24;
  found = PrefixFound();
  found.pages.reserve(prefix.hashes.size());
  PageId parent = kNoPage;
  for (size_t i = 0; i < prefix.hashes.size(); ++i) {
    if (i + kBucketAhead < prefix.hashes.size())
      hashes_.prefetchBucket(prefix.hashes[i + kBucketAhead]);
    if (i + kPageAhead < prefix.hashes.size())
      hashes_.prefetchPage(prefix.hashes[i + kPageAhead]);
    PageId page = findPage(prefix, i, parent);
    if (page == kNoPage)
      break;
    found.pages.push_back(page);
    parent = page;
  }
  findPartial(prefix, found);
}

void PageCache::findPartial(const PrefixView &prefix, PrefixFound &found) const {
  PageId parent = found.pages.empty() ? kNoPage : found.pages.back();
  size_t begin = found.pages.size() * pageSize();
  std::span<const TokenId> rest =
      prefix.tokens.subspan(begin, std::min<size_t>(pageSize(), prefix.tokens.size() - begin));
  auto [before, after] = siblings_.find({parent, prefix.owner, rest});
  for (PageId id : {after, before}) {
    if (id == kNoPage)
      continue;
    int32_t common = commonPrefix(rest, pool_.tokens(id));
    if (common > found.partialTokens) {
      found.partialTokens = common;
      found.partialPage = id;
      found.diverges = false;
    }
    bool bothGoOn = common < pool_[id].tokens && common < static_cast<int32_t>(rest.size());
    if (common == found.partialTokens && bothGoOn)
      found.diverges = true;
  }
}

bool PageCache::covers(OwnerId owner, PageId parent, std::span<const TokenId> tokens) const {
  PageId after = siblings_.find({parent, owner, tokens}).after;
  return after != kNoPage &&
         commonPrefix(tokens, pool_.tokens(after)) == static_cast<int32_t>(tokens.size());
}

void PageCache::insert(PageId id, const NewPrefixPage &what, const Retention &retention) {
  Page &page = pool_[id];
  assert(page.state == PageState::Private && page.live());
  page.state = PageState::Cached;
  page.hash = what.hash;
  page.parent = what.parent;
  page.children = 0;
  page.priority = retention.priority;
  page.lastTouch = lastTouch_;
  pool_.setTokens(id, static_cast<int32_t>(what.tokens.size()));
  std::copy(what.tokens.begin(), what.tokens.end(), pool_.tokens(id));
  if (what.parent != kNoPage)
    ++pool_[what.parent].children;
  hashes_.insert(id);
  siblings_.insert(id);
  queue_.forget(id);
  queue_.countUse(id);
  lifetimes_.set(id, retention.ttl);
  ++counters_.pagesStored;
  ++counters_.cachedPages;
  if (observer_)
    observer_->blockStored({id, what.hash, what.parentHash, what.rawTokens, pageSize()});
}

//===----------------------------------------------------------------------===//
// Eviction
//===----------------------------------------------------------------------===//

int32_t PageCache::evict(int32_t pages) {
  int32_t evicted = 0;
  for (; evicted < pages && !queue_.empty(); ++evicted)
    evictPage(queue_.top());
  return evicted;
}

void PageCache::evictPage(PageId id) {
  PageId parent = pool_[id].parent;
  queue_.erase(id);
  misses_.noteEvicted(pool_[id].hash);
  makeUnfindable(id);
  ++counters_.evictions;
  putBack(id);
  if (parent != kNoPage && pool_[parent].idle() && pool_[parent].children == 0)
    queue_.push(parent);
}

void PageCache::makeUnfindable(PageId id) {
  Page &page = pool_[id];
  hashes_.erase(id);
  siblings_.erase(id);
  lifetimes_.forget(id);
  if (page.parent != kNoPage)
    --pool_[page.parent].children;
  page.parent = kNoPage;
  page.state = PageState::Private;
  --counters_.cachedPages;
  if (observer_)
    observer_->blockRemoved(id, page.hash);
}

void PageCache::clear() {
  evict(pool_.size());
  // What is left is live. Children leave before their parents do not matter here: no look-up can
  // come between.
  for (PageId id = 0; id < pool_.size(); ++id)
    if (pool_[id].state == PageState::Cached)
      makeUnfindable(id);
  misses_.clear();
  if (observer_)
    observer_->allBlocksCleared();
}

void PageCache::setTime(uint32_t ticks) {
  // A page's parent has at least its time, so whatever hangs below a page that is due is due too;
  // evicting from the leaves up reaches all of it.
  for (PageId id : lifetimes_.advance(ticks)) {
    while (id != kNoPage && pool_[id].queued() && lifetimes_.due(id)) {
      PageId parent = pool_[id].parent;
      evictPage(id);
      ++counters_.expirations;
      id = parent;
    }
  }
}
