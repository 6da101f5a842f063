//===- EvictionQueue.h - idle leaves, the next to go first ------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_EVICTIONQUEUE_H
#define PAGEFOLD_RUNTIME_LIB_KV_EVICTIONQUEUE_H

#include "PagePool.h"
#include "pagefold/runtime/KvCacheManager.h"

#include <vector>

namespace pagefold::runtime {

/// A binary heap of page ids; each queued page knows its place, so that a pin takes it out in
/// O(log n). The order is one function, `before`, which is where a new policy goes.
class EvictionQueue {
public:
  EvictionQueue(PagePool &pool, EvictionPolicy policy);

  void push(PageId page);
  void erase(PageId page);
  bool empty() const { return heap_.empty(); }
  int32_t size() const { return static_cast<int32_t>(heap_.size()); }
  PageId top() const { return heap_.front(); }

  /// Counts a use, for Lfu, of a page that is not queued.
  void countUse(PageId page);
  /// The use count of a page starts over (it holds other tokens now).
  void forget(PageId page);

  /// Is `a` to be evicted before `b`?
  bool before(PageId a, PageId b) const;
  /// Every queued page knows its place and none goes before its parent in the heap.
  bool wellFormed() const;

private:
  void place(PageId page, size_t at);
  void siftUp(size_t at);
  void siftDown(size_t at);

  PagePool &pool_;
  std::vector<PageId> heap_;
  std::vector<uint32_t> uses_; ///< Lfu only: touches of each page
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_EVICTIONQUEUE_H
