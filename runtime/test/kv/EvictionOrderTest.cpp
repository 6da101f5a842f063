//===- EvictionOrderTest.cpp - who goes first -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

static bool isCached(KvCacheManager &manager, const std::vector<TokenId> &prompt) {
  return manager.peek(makeKey(manager, prompt)).matchedTokens ==
         static_cast<int32_t>(prompt.size());
}

TEST(Eviction, LeastRecentlyUsedFirstAndTailBeforeHead) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  std::vector<TokenId> a = tokenRun(16), b = tokenRun(16, 100);
  serve(*manager, 1, a);
  serve(*manager, 2, b);
  EXPECT_EQ(manager->evict(1), 1);
  EXPECT_EQ(manager->peek(makeKey(*manager, a)).matchedTokens, 12) << "the older one, from its end";
  EXPECT_TRUE(isCached(*manager, b));
  serve(*manager, 3, tokenRun(8)); // uses the first half of a again: now its second half is oldest
  EXPECT_EQ(manager->evict(2), 2);
  EXPECT_EQ(manager->peek(makeKey(*manager, a)).matchedTokens, 8);
  EXPECT_EQ(manager->peek(makeKey(*manager, b)).matchedTokens, 12);
}

TEST(Eviction, LiveAndInnerPagesAreNeverTaken) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  runPrompt(*manager, 1, tokenRun(16));
  serve(*manager, 2, concat(tokenRun(16), tokenRun(8, 50)));
  EXPECT_EQ(manager->evict(100), 2) << "only the pages after the live prefix";
  EXPECT_OK(manager->verifyInvariants());
  EXPECT_EQ(manager->counters().livePages, 4);
  ASSERT_OK(manager->finish(1));
  EXPECT_EQ(manager->evict(100), 4);
  EXPECT_EQ(manager->evict(1), 0) << "ends, and says so";
}

// A57: overlapping prompts that leave each other inside a page.
TEST(Eviction, A57_AccountingWithPromptsThatPartInsideAPage) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  auto total = [&] {
    KvCounters c = manager->counters();
    EXPECT_EQ(c.freePages + c.idlePages + c.livePages, 16);
    EXPECT_OK(manager->verifyInvariants());
  };
  std::vector<TokenId> common = tokenRun(20);
  runPrompt(*manager, 1, concat(common, tokenRun(28, 100)));
  total();
  PrefixMatch second = runPrompt(*manager, 2, concat(common, tokenRun(20, 200)));
  EXPECT_EQ(second.hitPages * 16, 16) << "whole pages are shared, the rest is copied";
  EXPECT_EQ(second.partialTokens, 4);
  total();
  runPrompt(*manager, 3, concat(common, tokenRun(13, 300)));
  total();
  EXPECT_EQ(manager->evict(5), 0) << "locked pages stay";
  for (RequestId id : {2, 1, 3}) {
    ASSERT_OK(manager->finish(id));
    total();
  }
  int32_t idle = static_cast<int32_t>(manager->counters().idlePages);
  for (int32_t n = 1; idle > 0; ++n) {
    int32_t evicted = manager->evict(n);
    EXPECT_EQ(evicted, std::min(n, idle));
    idle -= evicted;
    total();
  }
  EXPECT_EQ(manager->counters().freePages, 16);
}

TEST(Eviction, PriorityOutlivesRecency) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  std::vector<TokenId> system = tokenRun(16), other = tokenRun(16, 100);
  serve(*manager, 1, system, {}, {.retention = {.priority = 5, .ttl = 0}});
  serve(*manager, 2, other);
  EXPECT_EQ(manager->evict(4), 4);
  EXPECT_TRUE(isCached(*manager, system));
  EXPECT_FALSE(isCached(*manager, other));
}

TEST(Eviction, TimeToLiveCountsIdleTimeAndTheLongestWishWins) {
  auto manager = makeManager({.numPages = 16, .pageSize = 4});
  std::vector<TokenId> a = tokenRun(16), b = tokenRun(16, 100), c = tokenRun(16, 200);
  AdmitOptions ten{.retention = {.priority = 0, .ttl = 10}},
      twenty{.retention = {.priority = 0, .ttl = 20}};
  serve(*manager, 1, a, {}, ten);
  serve(*manager, 2, b, {}, twenty);
  runPrompt(*manager, 3, c, {}, ten);
  manager->setTime(9);
  EXPECT_TRUE(isCached(*manager, a));
  manager->setTime(10);
  EXPECT_FALSE(isCached(*manager, a));
  EXPECT_TRUE(isCached(*manager, b));
  EXPECT_TRUE(isCached(*manager, c)) << "in use";
  EXPECT_EQ(manager->counters().expirations, 4);
  serve(*manager, 4, tokenRun(8, 100), {}, {}); // wants the first half of b for ever
  ASSERT_OK(manager->finish(3));
  manager->setTime(100);
  EXPECT_EQ(manager->peek(makeKey(*manager, b)).matchedTokens, 8);
  EXPECT_FALSE(isCached(*manager, c));
  manager->setTime(50); // does not go back
  EXPECT_OK(manager->verifyInvariants());
}

TEST(Eviction, AllocationEvictsOnlyWhatItNeeds) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  serve(*manager, 1, tokenRun(16));
  serve(*manager, 2, tokenRun(16, 100));
  runPrompt(*manager, 3, tokenRun(8, 200));
  EXPECT_EQ(manager->counters().evictions, 2);
  EXPECT_EQ(manager->peek(makeKey(*manager, tokenRun(16))).matchedTokens, 8);
  EXPECT_TRUE(isCached(*manager, tokenRun(16, 100)));
}
