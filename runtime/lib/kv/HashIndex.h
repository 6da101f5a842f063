//===- HashIndex.h - from a page hash to the pages that have it -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_HASHINDEX_H
#define PAGEFOLD_RUNTIME_LIB_KV_HASHINDEX_H

#include "PagePool.h"

#include <vector>

namespace pagefold::runtime {

/// A chained hash table whose links live in the pages. It may hold many pages of one hash: a hash
/// proposes, the caller's predicate decides.
class HashIndex {
public:
  /// Halves of a bucket for each page: a found page is then the first or second of its chain.
  static constexpr size_t kHalfBucketsPerPage = 3;

  explicit HashIndex(PagePool &pool);

  void insert(PageId page);
  void erase(PageId page);

  /// The first page with this hash that `confirm(PageId)` accepts, or kNoPage.
  template <typename Confirm> PageId find(const PageHash &hash, Confirm &&confirm) const {
    for (PageId id = buckets_[bucketOf(hash)]; id != kNoPage; id = pool_[id].nextInBucket)
      if (pool_[id].hash == hash && confirm(id))
        return id;
    return kNoPage;
  }

  // A look-up of a long prompt is bound by cache misses; these ask for the lines ahead of time:
  // first of the bucket, then of the page it names and its tokens.
  void prefetchBucket(const PageHash &hash) const { __builtin_prefetch(&buckets_[bucketOf(hash)]); }
  void prefetchPage(const PageHash &hash) const {
    PageId id = buckets_[bucketOf(hash)];
    if (id == kNoPage)
      return;
    __builtin_prefetch(&pool_[id].hash);
    __builtin_prefetch(&pool_[id].priority); // what a look-up reads may cross a line
    __builtin_prefetch(pool_.tokens(id));
  }

private:
  /// Scales the hash to the number of buckets: a multiplication, and any number will do.
  size_t bucketOf(const PageHash &hash) const {
    return static_cast<size_t>((static_cast<unsigned __int128>(hash.prefix()) * buckets_.size()) >>
                               64);
  }

  PagePool &pool_;
  std::vector<PageId> buckets_; ///< heads of the chains
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_HASHINDEX_H
