//===- PageCache.h - pages that can be found again --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pool together with everything that makes pages findable: the tree of prefixes (each cached
// page names the page before it), the hash index, the order among siblings, and the order of
// eviction.
//
// Two facts carry the rest. (1) A cached page's parent is cached: only leaves are evicted. (2) A
// live cached page's parent is live: users take whole prefixes. By (2) everything below an idle
// page is idle, so every idle page can be evicted, leaves first, and free + idle is exactly what
// can be had.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_PAGECACHE_H
#define PAGEFOLD_RUNTIME_LIB_KV_PAGECACHE_H

#include "EvictionQueue.h"
#include "HashIndex.h"
#include "Lifetimes.h"
#include "MissMemory.h"
#include "OwnerTable.h"
#include "PagePool.h"
#include "SiblingIndex.h"
#include "pagefold/runtime/KvCounters.h"

#include <span>
#include <vector>

namespace pagefold::runtime {

/// What a page costs on the host: itself, its share of the hash buckets, its entry in the eviction
/// queue. Without the token ids that confirm hits (4 bytes a token) and the optional parts (time to
/// live, use counts, the memory that explains misses).
inline constexpr size_t kBytesPerPage =
    sizeof(Page) + HashIndex::kHalfBucketsPerPage * sizeof(PageId) / 2 + sizeof(PageId);
static_assert(kBytesPerPage < 64, "metadata of a page must stay below 64 bytes");

/// A prefix as the cache sees it.
struct PrefixView {
  OwnerId owner = kNoOwner;
  std::span<const PageHash> hashes; ///< of the full pages
  std::span<const TokenId> tokens;  ///< the ids that confirm a hit
};

/// What is cached of a prefix.
struct PrefixFound {
  std::vector<PageId> pages;    ///< whole pages, contiguous from the first
  PageId partialPage = kNoPage; ///< the cached page that agrees longest with what follows
  int32_t partialTokens = 0;    ///< how far
  bool diverges = false;        ///< some cached page goes on differently after that
  int32_t tokens(int32_t pageSize) const {
    return static_cast<int32_t>(pages.size()) * pageSize + partialTokens;
  }
};

/// What becomes findable.
struct NewPrefixPage {
  PageHash hash;
  PageId parent = kNoPage;
  const PageHash *parentHash = nullptr;
  std::span<const TokenId> tokens;    ///< that confirm a hit
  std::span<const TokenId> rawTokens; ///< for observers
};

class PageCache {
public:
  PageCache(const KvCacheOptions &options, KvCounters &counters);

  const PagePool &pool() const { return pool_; }
  const Page &page(PageId id) const { return pool_[id]; }
  int32_t pageSize() const { return pool_.pageSize(); }
  OwnerTable &owners() { return owners_; }
  const OwnerTable &owners() const { return owners_; }
  MissMemory &misses() { return misses_; }
  const MissMemory &misses() const { return misses_; }

  /// Pages that allocate() can give: free + idle.
  int32_t available() const { return pool_.numFree() + pool_.numIdle(); }
  /// A private page with one user, evicting if there is no free one. available() must be positive.
  PageId allocate(OwnerId owner);
  /// One more user: of a live page, or of a found one (together with all pages before it).
  void addUser(PageId page);
  /// The same, as a use that the order of eviction should know of.
  void use(PageId page, const Retention &retention, uint32_t touch);
  /// One user less. A private page without users becomes free, a cached one idle.
  void release(PageId page, uint32_t touch);
  void setTokens(PageId page, int32_t tokens) { pool_.setTokens(page, tokens); }
  /// The number of a new touch; all pages of one operation share one.
  uint32_t nextTouch();
  /// Moves the count of touches on, to see what happens at its end.
  void skipTouchesTo(uint32_t touch) { lastTouch_ = touch; }

  /// The longest cached prefix; changes nothing.
  void find(const PrefixView &prefix, PrefixFound &found) const;
  /// The cached page equal to full page `index` of `prefix` after `parent`, or kNoPage.
  PageId findPage(const PrefixView &prefix, size_t index, PageId parent) const;
  /// Is there a cached page after `parent` that starts with these tokens?
  bool covers(OwnerId owner, PageId parent, std::span<const TokenId> tokens) const;
  /// Makes a private page with users findable. No equal page may be findable.
  void insert(PageId page, const NewPrefixPage &what, const Retention &retention);

  /// Evicts up to `pages` idle pages; returns how many.
  int32_t evict(int32_t pages);
  void clear();
  void setTime(uint32_t ticks);

  Status verify() const; ///< the cache's own invariants; see Invariants.cpp

private:
  void evictPage(PageId page);
  void makeUnfindable(PageId page);
  void putBack(PageId page);
  void becomeIdle(PageId page, uint32_t touch);
  void renumberTouches();
  void findPartial(const PrefixView &prefix, PrefixFound &found) const;
  Status verifyTree() const;
  Status verifyPage(PageId page) const;

  KvCounters &counters_;
  CacheObserver *observer_;
  PagePool pool_;
  HashIndex hashes_;
  SiblingIndex siblings_;
  EvictionQueue queue_;
  Lifetimes lifetimes_;
  OwnerTable owners_;
  MissMemory misses_;
  uint32_t lastTouch_ = 0;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_PAGECACHE_H
