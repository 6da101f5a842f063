//===- MemoryCache.cpp - artifacts of this process ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryCache.h"
#include "pagefold/runtime/ForkHandlers.h"

using namespace pagefold;
using namespace pagefold::jit;

static constexpr size_t kMaxBytes = size_t(64) << 20; ///< some hundred artifacts

MemoryCache &MemoryCache::ofProcess() {
  static MemoryCache *cache = [] {
    runtime::onFork([] { ofProcess().mutex.lock(); }, [] { ofProcess().mutex.unlock(); },
                    [] { ofProcess().mutex.unlock(); });
    return new MemoryCache(kMaxBytes); // outlives every thread
  }();
  return *cache;
}

std::optional<Compiled> MemoryCache::find(const CompileKey &key) {
  std::lock_guard lock(mutex);
  auto found = places.find(key);
  if (found == places.end())
    return std::nullopt;
  kept.splice(kept.begin(), kept, found->second);
  return found->second->compiled;
}

void MemoryCache::keep(const CompileKey &key, Compiled compiled) {
  Kept entry{key, std::move(compiled)};
  std::lock_guard lock(mutex);
  if (entry.size() > maxBytes || places.count(key)) // another thread was faster
    return;
  while (bytes + entry.size() > maxBytes) {
    bytes -= kept.back().size();
    places.erase(kept.back().key);
    kept.pop_back();
  }
  bytes += entry.size();
  kept.push_front(std::move(entry));
  places[key] = kept.begin();
}
