//===- PagePool.h - pages, the free list and reference counts ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_PAGEPOOL_H
#define PAGEFOLD_RUNTIME_LIB_KV_PAGEPOOL_H

#include "Page.h"

#include <memory>
#include <new>
#include <span>
#include <vector>

namespace pagefold::runtime {

/// Owns the Page records and the stored token ids, the free list (last in, first out) and the
/// counts of free, idle and live pages. It knows no prefix: what becomes of a page whose last user
/// leaves is its caller's to say.
class PagePool {
public:
  PagePool(int32_t numPages, int32_t pageSize);

  int32_t size() const { return static_cast<int32_t>(pages_.size()); }
  int32_t pageSize() const { return pageSize_; }
  Page &operator[](PageId page) { return pages_[page]; }
  const Page &operator[](PageId page) const { return pages_[page]; }

  /// The ids by which hits are confirmed: the first `tokens` of a cached page are valid.
  TokenId *tokens(PageId page) { return &tokens_[size_t(page) * pageSize_]; }
  std::span<const TokenId> tokens(PageId page) const {
    return {&tokens_[size_t(page) * pageSize_], pages_[page].tokens};
  }

  int32_t numFree() const { return numFree_; }
  int32_t numIdle() const { return size() - numFree_ - numLive_; }
  int32_t numLive() const { return numLive_; }
  int32_t numShared() const { return numShared_; }
  int64_t liveTokens() const { return liveTokens_; }
  PageId firstFree() const { return firstFree_; }

  /// Takes a page from the free list, which must not be empty: private, with one user.
  PageId take(OwnerId owner);
  /// Puts a page without users on the free list.
  void putBack(PageId page);

  /// One more user of a private or cached page (which must not be in the eviction queue).
  void addUser(PageId page);
  /// One user less; true if that was the last.
  bool dropUser(PageId page);
  /// Records how many of the page's tokens are computed.
  void setTokens(PageId page, int32_t tokens);

private:
  int32_t pageSize_;
  std::vector<Page> pages_;
  struct FreeAligned {
    void operator()(TokenId *tokens) const { ::operator delete[](tokens, kLine); }
  };
  static constexpr std::align_val_t kLine{64};
  /// Aligned, so that the 16 tokens of a page are one cache line and not two.
  std::unique_ptr<TokenId[], FreeAligned> tokens_;
  PageId firstFree_ = kNoPage;
  int32_t numFree_ = 0;
  int32_t numLive_ = 0;
  int32_t numShared_ = 0;
  int64_t liveTokens_ = 0;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_PAGEPOOL_H
