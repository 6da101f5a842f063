//===- Lifetimes.cpp - idle pages whose time will end ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include <algorithm>

using namespace pagefold::runtime;

std::vector<PageId> Lifetimes::advance(uint32_t ticks) {
  now_ = std::max(now_, ticks);
  std::vector<PageId> due;
  for (const auto &[end, page] : idle_) {
    if (end > now_)
      break;
    due.push_back(page);
  }
  return due;
}

void Lifetimes::set(PageId page, uint32_t ttl) {
  pool_[page].mortal = ttl != 0;
  if (ttl != 0)
    lives_[page] = {ttl};
}

void Lifetimes::extend(PageId page, uint32_t ttl) {
  if (!pool_[page].mortal)
    return;
  if (ttl == 0)
    forget(page);
  else
    lives_[page].ttl = std::max(lives_[page].ttl, ttl);
}

void Lifetimes::becameIdle(PageId page) {
  if (!pool_[page].mortal)
    return;
  Life &life = lives_[page];
  life.end = uint64_t(now_) + life.ttl;
  idle_.emplace(life.end, page);
}

void Lifetimes::becameLive(PageId page) {
  if (pool_[page].mortal)
    idle_.erase({lives_[page].end, page});
}

void Lifetimes::forget(PageId page) {
  if (!pool_[page].mortal)
    return;
  auto life = lives_.find(page);
  idle_.erase({life->second.end, page});
  lives_.erase(life);
  pool_[page].mortal = 0;
}

bool Lifetimes::due(PageId page) const { return pool_[page].mortal && lives_.at(page).end <= now_; }
