//===- NaiveModel.h - what the cache should hold, by brute force -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An independent model to check the manager against. It knows nothing of hashes, trees or counts:
//
//  - Memory keeps, for each page and slot, *which prefix* was written there. A prefix is a number
//  of
//    a dictionary of full prefixes: (number of the prefix before, token) -> number; the identity is
//    the first step. K and V of a token are a function of exactly that.
//  - Findable pages are learnt from the observer. The longest hit of a prompt is then the longest
//    prefix whose every token lies in the right slot of some findable page.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_KV_NAIVEMODEL_H
#define PAGEFOLD_RUNTIME_TEST_KV_NAIVEMODEL_H

#include "TestSupport.h"

#include <map>
#include <unordered_map>

namespace pagefold::runtime::test {

/// Numbers for full prefixes: equal numbers if and only if equal identity and tokens.
class PrefixDictionary {
public:
  using Number = int64_t;
  /// The number of each prefix of `tokens` (of length 1, 2, ...).
  std::vector<Number> numbers(const std::string &identity, std::span<const TokenId> tokens) {
    Number at = step(-1 - identities_.try_emplace(identity, identities_.size()).first->second, -1);
    std::vector<Number> result;
    for (TokenId token : tokens)
      result.push_back(at = step(at, token));
    return result;
  }

private:
  Number step(Number before, TokenId token) {
    return dictionary_.try_emplace({before, token}, static_cast<Number>(dictionary_.size()))
        .first->second;
  }
  std::map<std::string, Number> identities_;
  std::map<std::pair<Number, TokenId>, Number> dictionary_;
};

/// The device's memory: what was written in each slot of each page.
class Memory {
public:
  using Number = PrefixDictionary::Number;
  static constexpr Number kGarbage = -1;

  Memory(int32_t pages, int32_t pageSize)
      : pageSize_(pageSize), slots_(size_t(pages) * pageSize, kGarbage) {}

  Number &at(PageId page, int32_t slot) { return slots_[size_t(page) * pageSize_ + slot]; }

  /// All at once, as a parallel kernel would.
  void copy(const std::vector<PageCopy> &copies) {
    std::vector<Number> before = slots_;
    for (const PageCopy &copy : copies)
      for (int32_t slot = 0; slot < copy.tokens; ++slot)
        at(copy.destination, slot) = before[size_t(copy.source) * pageSize_ + slot];
  }
  void wipe(PageId page) {
    for (int32_t slot = 0; slot < pageSize_; ++slot)
      at(page, slot) = kGarbage;
  }

private:
  int32_t pageSize_;
  std::vector<Number> slots_;
};

/// Follows which pages are findable, and overwrites what is freed, as a busy device would.
class FindablePages : public CacheObserver {
public:
  void blockStored(const PageStored &stored) override {
    EXPECT_TRUE(tokens_.emplace(stored.page, static_cast<int32_t>(stored.tokens.size())).second)
        << "page " << stored.page << " stored twice";
  }
  void blockRemoved(PageId page, const PageHash &) override {
    EXPECT_EQ(tokens_.erase(page), 1u) << "page " << page << " removed but not stored";
  }
  void pageFreed(PageId page) override { freed_.push_back(page); }

  std::vector<PageId> takeFreed() { return std::exchange(freed_, {}); }
  size_t size() const { return tokens_.size(); }

  /// The longest prefix that the findable pages hold.
  int32_t longestHit(Memory &memory, std::span<const PrefixDictionary::Number> prefix,
                     int32_t pageSize) const {
    std::unordered_map<PrefixDictionary::Number, int32_t> held; // number -> slot
    for (auto [page, count] : tokens_)
      for (int32_t slot = 0; slot < count; ++slot)
        if (memory.at(page, slot) != Memory::kGarbage)
          held[memory.at(page, slot)] = slot;
    int32_t length = 0;
    for (; length < static_cast<int32_t>(prefix.size()); ++length) {
      auto found = held.find(prefix[length]);
      if (found == held.end() || found->second != length % pageSize)
        break;
    }
    return length;
  }

private:
  std::unordered_map<PageId, int32_t> tokens_;
  std::vector<PageId> freed_;
};

} // namespace pagefold::runtime::test

#endif // PAGEFOLD_RUNTIME_TEST_KV_NAIVEMODEL_H
