//===- IndexesTest.cpp - the indexes behind the prefix cache, against brute force -===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvictionQueue.h"
#include "HashIndex.h"
#include "PageCache.h"
#include "PageTable.h"
#include "SiblingIndex.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace pagefold::runtime;

namespace {
constexpr int32_t kPages = 64, kPageSize = 4;

struct Key {
  PageId parent;
  OwnerId owner;
  std::vector<TokenId> tokens;
  auto operator<=>(const Key &) const = default;
};

class RandomTree {
public:
  RandomTree() : pool(kPages, kPageSize), siblings(pool) {}

  Key randomKey() {
    Key key{static_cast<PageId>(random() % 3) - 1, static_cast<OwnerId>(random() % 2), {}};
    key.tokens.resize(1 + random() % kPageSize);
    for (TokenId &token : key.tokens)
      token = random() % 3;
    return key;
  }
  void insert(const Key &key) {
    PageId id = pool.take(key.owner);
    pool[id].parent = key.parent;
    pool.setTokens(id, static_cast<int32_t>(key.tokens.size()));
    std::ranges::copy(key.tokens, pool.tokens(id));
    siblings.insert(id);
    held.emplace(key, id);
  }
  void eraseAny() {
    auto it = std::next(held.begin(), random() % held.size());
    siblings.erase(it->second);
    pool.dropUser(it->second);
    pool.putBack(it->second);
    held.erase(it);
  }

  std::mt19937 random{7};
  PagePool pool;
  SiblingIndex siblings;
  std::map<Key, PageId> held;
};
} // namespace

TEST(SiblingIndex, AgreesWithAnOrderedMap) {
  RandomTree tree;
  for (int i = 0; i < 20'000; ++i) {
    Key key = tree.randomKey();
    if (tree.held.size() < kPages && !tree.held.contains(key))
      tree.insert(key);
    else
      tree.eraseAny();
    ASSERT_EQ(tree.siblings.countOrdered(), static_cast<int32_t>(tree.held.size()));

    Key probe = tree.randomKey();
    auto after = tree.held.lower_bound(probe);
    auto sibling = [&](auto it) {
      return it->first.parent == probe.parent && it->first.owner == probe.owner ? it->second
                                                                                : kNoPage;
    };
    PageId expectedAfter = after == tree.held.end() ? kNoPage : sibling(after);
    PageId expectedBefore = after == tree.held.begin() ? kNoPage : sibling(std::prev(after));
    auto found = tree.siblings.find({probe.parent, probe.owner, probe.tokens});
    ASSERT_EQ(found.after, expectedAfter);
    ASSERT_EQ(found.before, expectedBefore);
  }
}

TEST(EvictionQueue, GivesPagesInOrderOfPriorityThenTouch) {
  PagePool pool(kPages, kPageSize);
  EvictionQueue queue(pool, EvictionPolicy::Lru);
  std::mt19937 random(3);
  std::set<std::tuple<int, uint32_t, PageId>> expected;
  for (int i = 0; i < kPages; ++i) {
    PageId id = pool.take(0);
    pool[id].state = PageState::Cached;
    pool[id].priority = random() % 3;
    pool[id].lastTouch = random() % 20;
    pool.dropUser(id);
    queue.push(id);
    expected.emplace(pool[id].priority, pool[id].lastTouch, id);
    ASSERT_TRUE(queue.wellFormed());
  }
  for (PageId id : {3, 40, 17, 63, 0}) { // leaving from the middle
    queue.erase(id);
    expected.erase({pool[id].priority, pool[id].lastTouch, id});
    ASSERT_TRUE(queue.wellFormed());
  }
  for (auto [priority, touch, id] : expected) {
    ASSERT_EQ(queue.top(), id);
    queue.erase(id);
    ASSERT_TRUE(queue.wellFormed());
  }
  EXPECT_TRUE(queue.empty());
}

TEST(HashIndex, HoldsManyPagesOfOneHash) {
  PagePool pool(8, kPageSize);
  HashIndex index(pool);
  PageHash same;
  for (PageId id = 0; id < 8; ++id) {
    ASSERT_EQ(pool.take(0), id);
    index.insert(id);
  }
  index.erase(3);
  for (PageId wanted = 0; wanted < 8; ++wanted)
    EXPECT_EQ(index.find(same, [&](PageId id) { return id == wanted; }),
              wanted == 3 ? kNoPage : wanted);
  PageHash other;
  other.bytes[15] = 1;
  EXPECT_EQ(index.find(other, [](PageId) { return true; }), kNoPage);
}

TEST(PageTable, UpdatesReproduceTheTableAndNameEachEntryOnce) {
  PageTable table(3, 5);
  std::vector<PageId> device = table.entries();
  std::mt19937 random(5);
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < 6; ++i)
      table.set(random() % 3, random() % 5, static_cast<PageId>(random() % 10) - 1);
    std::vector<TableUpdate> updates;
    table.drainInto(updates);
    std::set<std::pair<int, int>> named;
    for (TableUpdate update : updates) {
      EXPECT_TRUE(named.emplace(update.row, update.column).second);
      device[update.row * 5 + update.column] = update.value;
    }
    ASSERT_EQ(device, table.entries());
  }
  std::vector<TableUpdate> none;
  table.drainInto(none);
  EXPECT_TRUE(none.empty());
}

// The count of touches has 32 bits; at its end the pages are numbered afresh, in the same order.
TEST(PageCache, OrderOfEvictionOutlivesTheTouchCounter) {
  KvCounters counters;
  KvCacheOptions options;
  options.numPages = 8;
  options.pageSize = 1;
  PageCache cache(options, counters);
  OwnerId owner = cache.owners().acquire("test");
  cache.skipTouchesTo(0xfffffffbu);
  std::vector<TokenId> tokens = {4, 0, 6, 2, 7, 1, 5, 3};
  std::vector<PageId> stored;
  for (TokenId &token : tokens) { // the counter ends in the middle
    PageId page = cache.allocate(owner);
    NewPrefixPage what;
    what.hash.bytes[0] = static_cast<uint8_t>(token);
    what.tokens = what.rawTokens = {&token, 1};
    cache.insert(page, what, {});
    cache.release(page, cache.nextTouch());
    ASSERT_TRUE(cache.verify().has_value());
    stored.push_back(page);
  }
  EXPECT_LT(cache.nextTouch(), 100u);
  for (PageId oldest : stored) {
    EXPECT_EQ(cache.page(oldest).state, PageState::Cached);
    cache.evict(1);
    EXPECT_EQ(cache.page(oldest).state, PageState::Free);
  }
}
