//===- TraceCache.h - hit rates of a trace of block ids ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some traces give no tokens but one id for each run of tokens of a prompt, equal ids meaning equal
// prefixes. TraceCache answers what hit rate a cache of a given capacity would see: every prompt is
// inserted as it arrives and nothing is pinned. It uses the manager's own prefix index and
// eviction.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TRACECACHE_H
#define PAGEFOLD_RUNTIME_TRACECACHE_H

#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/KvCacheManager.h"

#include <cstdint>
#include <memory>
#include <span>

namespace pagefold::runtime {

struct TraceCacheOptions {
  int32_t capacity = 0; ///< blocks, 1 or more; for no limit, the distinct ids of the trace
  EvictionPolicy eviction = EvictionPolicy::Lru;
};

/// One prompt's result, in blocks. The hit is a contiguous prefix; the rest is missed.
struct TraceLookup {
  int32_t blocks = 0;
  int32_t hitBlocks = 0;
  int32_t evictedBlocks = 0; ///< of the missed: seen before (an infinite cache would have hit)
  int32_t coldBlocks = 0;    ///< of the missed: never seen
};

class TraceCache {
public:
  static Result<std::unique_ptr<TraceCache>> create(const TraceCacheOptions &options);
  ~TraceCache();

  /// Looks a prompt up and inserts it. Fails with BadInput on a negative id.
  Result<TraceLookup> access(std::span<const int32_t> blockIds);
  int32_t size() const; ///< blocks held

private:
  class Impl;
  explicit TraceCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_TRACECACHE_H
