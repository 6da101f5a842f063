//===- EvictionQueue.cpp - idle leaves, the next to go first --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvictionQueue.h"

#include <cassert>

using namespace pagefold::runtime;

EvictionQueue::EvictionQueue(PagePool &pool, EvictionPolicy policy) : pool_(pool) {
  heap_.reserve(pool.size());
  if (policy == EvictionPolicy::Lfu)
    uses_.resize(pool.size());
}

bool EvictionQueue::before(PageId a, PageId b) const {
  const Page &x = pool_[a], &y = pool_[b];
  if (x.priority != y.priority)
    return x.priority < y.priority;
  if (!uses_.empty() && uses_[a] != uses_[b])
    return uses_[a] < uses_[b];
  if (x.lastTouch != y.lastTouch)
    return x.lastTouch < y.lastTouch;
  return a < b;
}

void EvictionQueue::countUse(PageId page) {
  if (!uses_.empty())
    ++uses_[page];
}

void EvictionQueue::forget(PageId page) {
  if (!uses_.empty())
    uses_[page] = 0;
}

void EvictionQueue::place(PageId page, size_t at) {
  heap_[at] = page;
  pool_[page].setQueuePlace(static_cast<int32_t>(at));
}

void EvictionQueue::siftUp(size_t at) {
  PageId page = heap_[at];
  for (; at > 0 && before(page, heap_[(at - 1) / 2]); at = (at - 1) / 2)
    place(heap_[(at - 1) / 2], at);
  place(page, at);
}

void EvictionQueue::siftDown(size_t at) {
  PageId page = heap_[at];
  for (size_t child; (child = 2 * at + 1) < heap_.size(); at = child) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child]))
      ++child;
    if (!before(heap_[child], page))
      break;
    place(heap_[child], at);
  }
  place(page, at);
}

void EvictionQueue::push(PageId page) {
  assert(pool_[page].idle() && pool_[page].children == 0 && !pool_[page].queued());
  heap_.push_back(page);
  siftUp(heap_.size() - 1);
}

void EvictionQueue::erase(PageId page) {
  assert(pool_[page].queued());
  size_t at = pool_[page].queuePlace();
  pool_[page].leaveQueue();
  PageId last = heap_.back();
  heap_.pop_back();
  if (last == page)
    return;
  heap_[at] = last;
  siftUp(at);
  siftDown(pool_[last].queuePlace());
}

bool EvictionQueue::wellFormed() const {
  for (size_t at = 0; at < heap_.size(); ++at) {
    const Page &page = pool_[heap_[at]];
    if (!page.queued() || page.queuePlace() != static_cast<int32_t>(at))
      return false;
    if (at > 0 && before(heap_[at], heap_[(at - 1) / 2]))
      return false;
  }
  return true;
}
