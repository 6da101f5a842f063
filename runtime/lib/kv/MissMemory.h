//===- MissMemory.h - what lets a miss be explained -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_MISSMEMORY_H
#define PAGEFOLD_RUNTIME_LIB_KV_MISSMEMORY_H

#include "pagefold/runtime/PrefixKey.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pagefold::runtime {

/// Remembers evicted pages, first pages of any identity, and pages being computed, to tell *why* a
/// look-up missed. Lossy (fixed tables in which the newest entry wins) and only ever informative:
/// no decision depends on it.
class MissMemory {
public:
  /// 16 bytes for each of `entries`; 0: remembers nothing.
  explicit MissMemory(size_t entries);

  void noteEvicted(const PageHash &hash);
  bool wasEvicted(const PageHash &hash) const;

  /// The first page with this content was cached for this identity (its root hash).
  void noteFirstPage(uint64_t contentTag, const PageHash &root);
  bool knownForOther(uint64_t contentTag, const PageHash &root) const;

  void startComputing(const PageHash &hash) { ++computing_[hash.prefix()]; }
  void stopComputing(const PageHash &hash);
  bool isComputing(const PageHash &hash) const { return computing_.contains(hash.prefix()); }

  void clear();

private:
  struct FirstPage {
    uint32_t content = 0;
    uint32_t root = 0;
  };
  FirstPage firstPageOf(uint64_t contentTag, const PageHash &root) const;

  std::vector<uint64_t> evicted_;
  std::vector<FirstPage> firstPages_;
  std::unordered_map<uint64_t, int32_t> computing_; ///< one entry for each running request
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_MISSMEMORY_H
