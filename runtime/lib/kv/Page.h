//===- Page.h - what is known of one page -----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_PAGE_H
#define PAGEFOLD_RUNTIME_LIB_KV_PAGE_H

#include "pagefold/runtime/PageTypes.h"
#include "pagefold/runtime/PrefixKey.h"

#include <cstdint>

namespace pagefold::runtime {

enum class PageState : uint8_t {
  Free,    ///< on the free list
  Private, ///< of live requests, not findable
  Cached,  ///< findable; live, or idle when it has no user
};

/// All that is kept for one page besides the token ids that confirm a hit. The indexes thread
/// through it, so that a look-up touches one line for each page.
class Page {
public:
  // ---- What a look-up reads, side by side.
  PageHash hash;                 ///< of a cached page, as are `parent` and the indexes' links
  PageId parent = kNoPage;       ///< the page before it in the prefix
  PageId nextInBucket = kNoPage; ///< HashIndex; of a free page: the next free one
  OwnerId owner = kNoOwner;
  uint16_t tokens = 0; ///< how many are computed
  uint8_t priority = 0;
  PageState state : 7 = PageState::Free;
  uint8_t mortal : 1 = 0; ///< has an entry in Lifetimes

  // ---- The rest.
  int32_t children = 0;           ///< cached pages that follow it
  PageId siblingBefore = kNoPage; ///< SiblingIndex
  PageId siblingAfter = kNoPage;
  uint32_t lastTouch = 0; ///< a count of touches of the whole cache, for the order of eviction

  /// References: by requests, and by copies that are still to be done.
  int32_t users() const { return usersOrPlace_ > 0 ? usersOrPlace_ : 0; }
  bool live() const { return usersOrPlace_ > 0; }
  bool idle() const { return state == PageState::Cached && !live(); }
  void addUser() { ++usersOrPlace_; }
  void dropUser() { --usersOrPlace_; }

  // An idle leaf stands in the eviction queue; only then it has no users, so both share a field.
  bool queued() const { return usersOrPlace_ < 0; }
  int32_t queuePlace() const { return -usersOrPlace_ - 1; }
  void setQueuePlace(int32_t place) { usersOrPlace_ = -place - 1; }
  void leaveQueue() { usersOrPlace_ = 0; }

private:
  int32_t usersOrPlace_ = 0;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_PAGE_H
