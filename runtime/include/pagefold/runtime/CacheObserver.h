//===- CacheObserver.h - what happens to pages, as it happens ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An observer is called under the manager's lock, in the order of the events: it must be quick and
// must not call the manager. It has its own clock; the manager has none.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_CACHEOBSERVER_H
#define PAGEFOLD_RUNTIME_CACHEOBSERVER_H

#include "pagefold/runtime/PageTypes.h"
#include "pagefold/runtime/PrefixKey.h"

#include <span>

namespace pagefold::runtime {

/// A page became findable. Published as BlockStored{block_hashes, parent_block_hash, token_ids,
/// block_size, medium}, the event names serving stacks share.
struct PageStored {
  PageId page;
  PageHash hash;
  const PageHash *parentHash;      ///< null for the first page of a prefix
  std::span<const TokenId> tokens; ///< raw token ids; fewer than pageSize for a partial tail
  int32_t pageSize;
};

class CacheObserver {
public:
  virtual ~CacheObserver() = default;
  // The prefix cache's contents.
  virtual void blockStored(const PageStored &) {}
  virtual void blockRemoved(PageId, const PageHash &) {}
  virtual void allBlocksCleared() {}
  // A page's life: allocated (from the free list), touched (by a look-up that pins it, or by the
  // release that leaves it idle), freed. A findable page that goes is `blockRemoved`, then freed.
  virtual void pageAllocated(PageHandle) {}
  virtual void pageTouched(PageId) {}
  virtual void pageFreed(PageId) {}
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_CACHEOBSERVER_H
