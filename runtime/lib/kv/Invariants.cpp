//===- Invariants.cpp - what must hold after every operation --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The invariants are listed, by these numbers, in docs/runtime/page-manager.md.
//
//===----------------------------------------------------------------------===//

#include "ManagerImpl.h"

#include <algorithm>

using namespace pagefold::runtime;
using std::to_string;

static tl::unexpected<Error> broken(const char *invariant, std::string what) {
  return fail(ErrorCode::Internal, std::string("invariant ") + invariant + " is broken: " + what);
}

static std::string pageName(PageId page) { return "page " + to_string(page); }

//===----------------------------------------------------------------------===//
// The cache's own
//===----------------------------------------------------------------------===//

Status PageCache::verify() const {
  int32_t freeCount = 0, liveCount = 0;
  std::vector<bool> onFreeList(pool_.size());
  for (PageId id = pool_.firstFree(); id != kNoPage; id = pool_[id].nextInBucket) {
    if (onFreeList[id])
      return broken("I1", pageName(id) + " is twice on the free list");
    onFreeList[id] = true;
    ++freeCount;
  }
  for (PageId id = 0; id < pool_.size(); ++id) {
    const Page &page = pool_[id];
    if (onFreeList[id] != (page.state == PageState::Free))
      return broken("I1", pageName(id) + "'s state and the free list disagree");
    if (page.state != PageState::Cached && page.live() != (page.state == PageState::Private))
      return broken("I1", pageName(id) + " is private without users, or free with users");
    liveCount += page.live();
  }
  if (freeCount != pool_.numFree() || liveCount != pool_.numLive())
    return broken("I1", "free + idle + live is not the total");
  return verifyTree();
}

Status PageCache::verifyTree() const {
  std::vector<int32_t> children(pool_.size());
  int32_t cached = 0, idleLeaves = 0;
  for (PageId id = 0; id < pool_.size(); ++id) {
    const Page &page = pool_[id];
    if (page.state != PageState::Cached)
      continue;
    ++cached;
    idleLeaves += page.idle() && page.children == 0;
    if (page.parent != kNoPage)
      ++children[page.parent];
    if (Status ok = verifyPage(id); !ok)
      return ok;
  }
  for (PageId id = 0; id < pool_.size(); ++id)
    if (pool_[id].state == PageState::Cached && pool_[id].children != children[id])
      return broken("I4", pageName(id) + " counts its children wrong");
  if (siblings_.countOrdered() != cached || counters_.cachedPages != cached)
    return broken("I5", "the sibling index is out of order or does not hold every findable page");
  if (!queue_.wellFormed() || queue_.size() != idleLeaves)
    return broken("I6", "the eviction queue does not hold exactly the idle leaves, in order");
  return {};
}

Status PageCache::verifyPage(PageId id) const {
  const Page &page = pool_[id];
  if (page.queued() != (page.idle() && page.children == 0))
    return broken("I6",
                  pageName(id) + " is queued for eviction and not an idle leaf, or the reverse");
  if (page.tokens < 1 || (page.tokens < pageSize() && page.children > 0))
    return broken("I4", pageName(id) + " is findable while empty, or partial with pages after it");
  if (hashes_.find(page.hash, [&](PageId other) { return other == id; }) != id)
    return broken("I5", pageName(id) + " is not found by its hash");
  if (page.parent == kNoPage)
    return {};
  const Page &parent = pool_[page.parent];
  if (parent.state != PageState::Cached || parent.tokens != pageSize())
    return broken("I4", pageName(id) + "'s parent is not findable or not full");
  if (parent.owner != page.owner)
    return broken("I3", pageName(id) + " has another owner than the page before it");
  if (page.live() && !parent.live())
    return broken("I7", pageName(id) + " is live and the page before it is not");
  return {};
}

//===----------------------------------------------------------------------===//
// Requests against pages
//===----------------------------------------------------------------------===//

Status KvCacheManager::Impl::verifyInvariants() const {
  if (Status ok = cache.verify(); !ok)
    return ok;
  std::vector<int32_t> users(cache.pool().size());
  for (const auto &[id, request] : requests_)
    if (Status ok = verifyRequest(id, request, users); !ok)
      return ok;
  for (const PageCopy &copy : copies.list()) {
    ++users[copy.source];
    if (copies.isDestination(copy.source))
      return broken("I9", pageName(copy.source) + " is to be copied and to be filled by a copy");
    if (cache.page(copy.source).owner != cache.page(copy.destination).owner)
      return broken("I3", "a copy crosses owners: " + pageName(copy.source) + " to " +
                              pageName(copy.destination));
  }
  if (Status ok = verifyUsers(users); !ok)
    return ok;
  return verifyTable();
}

Status KvCacheManager::Impl::verifyUsers(const std::vector<int32_t> &users) const {
  int64_t liveTokens = 0, shared = 0;
  for (PageId id = 0; id < cache.pool().size(); ++id) {
    const Page &page = cache.page(id);
    if (page.users() != users[id])
      return broken("I2", pageName(id) + " counts " + to_string(page.users()) + " users, has " +
                              to_string(users[id]));
    liveTokens += page.live() ? page.tokens : 0;
    shared += page.users() > 1;
  }
  if (liveTokens != cache.pool().liveTokens() || shared != cache.pool().numShared())
    return broken("I2", "live tokens or shared pages are counted wrong");
  return {};
}

Status KvCacheManager::Impl::verifyRequest(RequestId id, const LiveRequest &r,
                                           std::vector<int32_t> &users) const {
  std::string name = "request " + to_string(id);
  if (r.computed > r.key.size() || pagesFor(r.computed) > r.numPages ||
      r.cachedPages > r.computed / options.pageSize)
    return broken("I8", name + " has more computed than it knows or has pages for");
  int32_t tail = r.computed / options.pageSize;
  for (int32_t i = 0; i < table.columns(); ++i) {
    PageId page = table.at(r.row, i);
    if (i >= r.numPages) {
      if (page != kNoPage)
        return broken("I10", name + "'s row is not padded after its pages");
      continue;
    }
    if (page < 0 || page >= cache.pool().size() || cache.page(page).state == PageState::Free)
      return broken("I10", name + " reaches a free page or none at column " + to_string(i));
    if (cache.page(page).owner != r.owner)
      return broken("I3", name + " reaches " + pageName(page) + " of another owner");
    bool willBeWritten = i > tail || (i == tail && r.computed % options.pageSize == 0);
    if (willBeWritten &&
        (cache.page(page).users() > 1 || cache.page(page).state != PageState::Private))
      return broken("I8", name + " would write to " + pageName(page) + ", which is shared");
    if (i == tail && cache.page(page).state != PageState::Private)
      return broken("I8", name + " would append to findable " + pageName(page));
    ++users[page];
  }
  return verifyCachedPrefix(id, r);
}

Status KvCacheManager::Impl::verifyCachedPrefix(RequestId id, const LiveRequest &r) const {
  std::span<const TokenId> tokens = r.confirmingTokens();
  PageId parent = kNoPage;
  for (int32_t i = 0; i < r.cachedPages; ++i) {
    PageId page = table.at(r.row, i);
    auto held = cache.pool().tokens(page);
    auto want = tokens.subspan(size_t(i) * options.pageSize, options.pageSize);
    if (cache.page(page).state != PageState::Cached || cache.page(page).parent != parent ||
        !std::equal(held.begin(), held.end(), want.begin(), want.end()))
      return broken("I7", "request " + to_string(id) + " holds " + pageName(page) +
                              " for a prefix it does not have");
    parent = page;
  }
  return {};
}

Status KvCacheManager::Impl::verifyTable() const {
  if (table.numFreeRows() + requests_.size() != static_cast<size_t>(table.rows()))
    return broken("I10", "page table rows are lost or used twice");
  return {};
}
