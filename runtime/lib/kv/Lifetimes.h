//===- Lifetimes.h - idle pages whose time will end -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_LIFETIMES_H
#define PAGEFOLD_RUNTIME_LIB_KV_LIFETIMES_H

#include "PagePool.h"

#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pagefold::runtime {

/// The pages with a time to live (Page::mortal). Empty, and free of cost, unless someone asks for
/// it.
class Lifetimes {
public:
  explicit Lifetimes(PagePool &pool) : pool_(pool) {}

  uint32_t now() const { return now_; }
  /// Time moves on, never back. Returns the idle pages that are due, in order.
  std::vector<PageId> advance(uint32_t ticks);

  /// A newly findable page: 0 is for ever.
  void set(PageId page, uint32_t ttl);
  /// Another user wants the page for `ttl` ticks: the longer of both wins.
  void extend(PageId page, uint32_t ttl);
  void becameIdle(PageId page);
  void becameLive(PageId page);
  void forget(PageId page);
  /// Is this idle page over its time?
  bool due(PageId page) const;

private:
  struct Life {
    uint32_t ttl;
    uint64_t end = 0; ///< while idle
  };

  PagePool &pool_;
  uint32_t now_ = 0;
  std::unordered_map<PageId, Life> lives_;
  std::set<std::pair<uint64_t, PageId>> idle_; ///< by end
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_LIFETIMES_H
