//===- MissMemory.cpp - what lets a miss be explained ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MissMemory.h"

#include <algorithm>

using namespace pagefold::runtime;

MissMemory::MissMemory(size_t entries) : evicted_(entries), firstPages_(entries) {}

void MissMemory::noteEvicted(const PageHash &hash) {
  if (!evicted_.empty())
    evicted_[hash.prefix() % evicted_.size()] = hash.prefix();
}

bool MissMemory::wasEvicted(const PageHash &hash) const {
  return !evicted_.empty() && evicted_[hash.prefix() % evicted_.size()] == hash.prefix();
}

MissMemory::FirstPage MissMemory::firstPageOf(uint64_t contentTag, const PageHash &root) const {
  return {static_cast<uint32_t>(contentTag >> 32), static_cast<uint32_t>(root.prefix() >> 32)};
}

void MissMemory::noteFirstPage(uint64_t contentTag, const PageHash &root) {
  if (!firstPages_.empty())
    firstPages_[contentTag % firstPages_.size()] = firstPageOf(contentTag, root);
}

bool MissMemory::knownForOther(uint64_t contentTag, const PageHash &root) const {
  if (firstPages_.empty() || contentTag == 0)
    return false;
  const FirstPage &known = firstPages_[contentTag % firstPages_.size()];
  FirstPage asked = firstPageOf(contentTag, root);
  return known.content == asked.content && known.root != asked.root;
}

void MissMemory::stopComputing(const PageHash &hash) {
  auto found = computing_.find(hash.prefix());
  if (found != computing_.end() && --found->second == 0)
    computing_.erase(found);
}

void MissMemory::clear() {
  std::fill(evicted_.begin(), evicted_.end(), 0);
  std::fill(firstPages_.begin(), firstPages_.end(), FirstPage());
}
