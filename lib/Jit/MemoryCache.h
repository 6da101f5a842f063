//===- MemoryCache.h - artifacts of this process ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_MEMORYCACHE_H
#define PAGEFOLD_LIB_JIT_MEMORYCACHE_H

#include "CompileKey.h"
#include "pagefold/Jit/Compile.h"
#include <list>
#include <map>
#include <mutex>
#include <optional>

namespace pagefold::jit {

/// The artifacts last used, up to a number of bytes. Thread-safe.
class MemoryCache {
public:
  explicit MemoryCache(size_t maxBytes) : maxBytes(maxBytes) {}
  /// The process's own, usable in a child of fork().
  static MemoryCache &ofProcess();

  std::optional<Compiled> find(const CompileKey &key);
  /// Drops those that have not been used for longest where there is no room.
  void keep(const CompileKey &key, Compiled compiled);

private:
  struct Kept {
    CompileKey key;
    Compiled compiled;
    size_t size() const { return compiled.artifact.size() + compiled.remarks.size(); }
  };
  const size_t maxBytes;
  std::mutex mutex;     ///< of what follows
  std::list<Kept> kept; ///< last used first
  std::map<CompileKey, std::list<Kept>::iterator> places;
  size_t bytes = 0;
};

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_MEMORYCACHE_H
