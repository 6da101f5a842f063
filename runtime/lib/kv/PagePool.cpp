//===- PagePool.cpp - pages, the free list and reference counts -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagePool.h"

#include <cassert>

using namespace pagefold::runtime;

PagePool::PagePool(int32_t numPages, int32_t pageSize)
    : pageSize_(pageSize), pages_(numPages),
      tokens_(new (kLine) TokenId[size_t(numPages) * pageSize]()) {
  // Backwards, so that a fresh pool hands out 0, 1, 2, ...
  for (PageId page = numPages - 1; page >= 0; --page)
    putBack(page);
}

PageId PagePool::take(OwnerId owner) {
  assert(numFree_ > 0 && "the caller checks capacity first");
  PageId id = firstFree_;
  Page &page = pages_[id];
  firstFree_ = page.nextInBucket;
  --numFree_;
  ++numLive_;
  page = Page();
  page.owner = owner;
  page.state = PageState::Private;
  page.addUser();
  return id;
}

void PagePool::putBack(PageId id) {
  Page &page = pages_[id];
  assert(page.users() == 0);
  page.state = PageState::Free;
  page.owner = kNoOwner;
  page.nextInBucket = firstFree_;
  firstFree_ = id;
  ++numFree_;
}

void PagePool::addUser(PageId id) {
  Page &page = pages_[id];
  assert(page.state != PageState::Free && !page.queued());
  page.addUser();
  if (page.users() == 1) {
    ++numLive_;
    liveTokens_ += page.tokens;
  } else if (page.users() == 2) {
    ++numShared_;
  }
}

bool PagePool::dropUser(PageId id) {
  Page &page = pages_[id];
  assert(page.users() > 0);
  page.dropUser();
  if (page.users() == 1)
    --numShared_;
  if (page.users() > 0)
    return false;
  --numLive_;
  liveTokens_ -= page.tokens;
  return true;
}

void PagePool::setTokens(PageId id, int32_t tokens) {
  Page &page = pages_[id];
  if (page.live())
    liveTokens_ += tokens - page.tokens;
  page.tokens = static_cast<uint16_t>(tokens);
}
