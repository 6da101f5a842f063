//===- PageAccountingTest.cpp - every page is accounted for ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveModel.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

// A56: three free pages; a batch of rows that fill a partial page and rows that need new ones.
TEST(Accounting, A56_CapacityIsCheckedBeforeAnythingChanges) {
  auto manager = makeManager({.numPages = 6, .pageSize = 16, .prefixCaching = false});
  for (RequestId id : {1, 2, 3})
    runPrompt(*manager, id, tokenRun(10)); // a page each, 6 slots left in it
  ASSERT_EQ(manager->availablePages(), 3);
  std::vector<PageId> table = manager->tableSnapshot();
  KvCounters before = manager->counters();

  std::vector<Reservation> four = {{1, 16}, {2, 40}, {3, 48}}; // 0 + 2 + 2
  Status tooMany = manager->reserve(four);
  ASSERT_FALSE(tooMany);
  EXPECT_EQ(tooMany.error().message(),
            "reserve needs 4 pages, has 3 free or idle: preempt or finish a request");
  EXPECT_EQ(manager->tableSnapshot(), table);
  EXPECT_EQ(manager->counters().allocations, before.allocations);
  EXPECT_TRUE(manager->drainChanges().tableUpdates.empty());

  std::vector<Reservation> none = {{1, 16}, {2, 16}, {3, 11}};
  ASSERT_OK(manager->reserve(none));
  EXPECT_EQ(manager->availablePages(), 3);
  std::vector<Reservation> three = {{1, 16}, {2, 40}, {3, 17}};
  ASSERT_OK(manager->reserve(three));
  EXPECT_EQ(manager->availablePages(), 0);
  EXPECT_OK(manager->verifyInvariants());
}

TEST(Accounting, A56_RefusedAdmissionChangesNothingAndLeavesTheKey) {
  auto manager = makeManager({.numPages = 4, .pageSize = 4, .maxRequests = 2});
  serve(*manager, 1, tokenRun(12));
  PrefixKey key = makeKey(*manager, tokenRun(20, 50));
  EXPECT_FALSE(manager->admit(2, std::move(key)));
  EXPECT_EQ(key.size(), 20);
  EXPECT_EQ(manager->peek(makeKey(*manager, tokenRun(12))).matchedTokens, 12) << "nothing evicted";
  EXPECT_FALSE(manager->admit(2, makeKey(*manager, tokenRun(8, 50)), {.watermarkPages = 3}));
  EXPECT_OK(manager->admit(2, makeKey(*manager, tokenRun(8, 50)), {.watermarkPages = 2}));
}

TEST(Accounting, WholePromptMustFitAsksForMoreThanItTakes) {
  auto manager = makeManager({.numPages = 4, .pageSize = 4});
  AdmitOptions chunk{.newTokens = 4};
  ASSERT_OK(manager->admit(1, makeKey(*manager, tokenRun(12)), chunk));
  EXPECT_EQ(manager->availablePages(), 3);
  chunk.wholePromptMustFit = true;
  EXPECT_FALSE(manager->admit(2, makeKey(*manager, tokenRun(16, 50)), chunk));
  EXPECT_OK(manager->admit(2, makeKey(*manager, tokenRun(12, 50)), chunk));
  EXPECT_EQ(manager->availablePages(), 2);
}

TEST(Accounting, AHitThatIsTheLastPageIsTakenWithoutTheCopy) {
  auto manager = makeManager({.numPages = 2, .pageSize = 4});
  serve(*manager, 1, tokenRun(8)); // both pages idle
  // Whole page 0 and a copy of 3 tokens would need a third page; evicting the source is the way.
  PrefixMatch match = serve(*manager, 2, tokenRun(8));
  EXPECT_EQ(match.hitTokens, 4);
}

TEST(Accounting, ErrorsSayWhatIsExpected) {
  auto manager = makeManager({.numPages = 4, .pageSize = 4, .maxRequests = 1});
  EXPECT_EQ(manager->reserve(9, 4).error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(manager->admit(1, makeKey(*manager, {})));
  EXPECT_EQ(manager->admit(1, makeKey(*manager, tokenRun(17))).error().code(),
            ErrorCode::InvalidArgument)
      << "longer than a row: waiting does not help";
  EXPECT_FALSE(manager->admit(1, *PrefixKey::create({.tokens = tokenRun(4)}, 8)));
  EXPECT_FALSE(
      manager->admit(1, *PrefixKey::create({.tokens = tokenRun(4)}, 4, PageHashKind::Constant)));
  runPrompt(*manager, 1, tokenRun(4));
  EXPECT_FALSE(manager->admit(1, makeKey(*manager, tokenRun(4)))) << "the id is live";
  EXPECT_EQ(manager->admit(2, makeKey(*manager, tokenRun(4))).error().code(),
            ErrorCode::OutOfCapacity);
  EXPECT_FALSE(manager->fork(1, 2)) << "no row";
  EXPECT_FALSE(manager->markComputed(1, 5)) << "not known";
  EXPECT_FALSE(manager->markComputed(1, 3)) << "goes back";
  EXPECT_FALSE(manager->append(1, std::vector<TokenId>{-1}));
  EXPECT_FALSE(manager->reserve(1, 17));
  EXPECT_FALSE(manager->reserve(1, -1));
  for (KvCacheOptions bad :
       {KvCacheOptions{.numPages = 0}, KvCacheOptions{.numPages = 1, .pageSize = 0},
        KvCacheOptions{.numPages = 1, .pageSize = 1025},
        KvCacheOptions{.numPages = 1, .maxRequests = 0},
        KvCacheOptions{.numPages = 1, .maxPagesPerRequest = -1}})
    EXPECT_FALSE(KvCacheManager::create(bad));
  EXPECT_OK(manager->verifyInvariants());
}

TEST(Accounting, FragmentationIsReadFromTheCounters) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(20));
  ASSERT_OK(manager->fork(1, 2));
  KvCounters c = manager->counters();
  EXPECT_EQ(c.livePages, 2);
  EXPECT_EQ(c.liveTokens, 20) << "shared tokens count once";
  ASSERT_OK(manager->finish(1));
  ASSERT_OK(manager->finish(2));
  EXPECT_EQ(manager->counters().liveTokens, 0);
  EXPECT_EQ(manager->counters().idlePages, 2);
}

// Longer than the fuzz on one manager: allocations and frees balance over 50,000 requests.
TEST(Accounting, A54_SoakDrainsToZero) {
  FindablePages findable;
  auto manager = makeManager({.numPages = 64, .pageSize = 16, .observer = &findable});
  std::map<RequestId, int32_t> live;
  uint64_t random = 1;
  auto below = [&](uint64_t n) {
    return (random = random * 6364136223846793005u + 1442695040888963407u, (random >> 33) % n);
  };
  for (RequestId id = 1; id <= 50'000; ++id) {
    std::vector<TokenId> prompt =
        concat(tokenRun(16 * below(3)), tokenRun(1 + below(60), below(40)));
    if (manager->admit(id, makeKey(*manager, prompt)))
      live[id] = static_cast<int32_t>(prompt.size());
    manager->drainChanges();
    if (live.empty())
      continue;
    auto victim = std::next(live.begin(), below(live.size()));
    if (below(4) > 0)
      ASSERT_OK(manager->markComputed(victim->first, victim->second));
    if (below(3) > 0) {
      ASSERT_OK(below(2) ? manager->finish(victim->first) : manager->abort(victim->first));
      live.erase(victim);
    }
    if (id % 1000 == 0)
      ASSERT_OK(manager->verifyInvariants());
  }
  for (auto [id, size] : live)
    ASSERT_OK(manager->abort(id));
  KvCounters c = manager->counters();
  EXPECT_EQ(c.livePages, 0);
  EXPECT_EQ(manager->evict(64), c.idlePages);
  c = manager->counters();
  EXPECT_EQ(c.freePages, 64);
  EXPECT_EQ(c.allocations, c.frees);
  EXPECT_EQ(findable.size(), 0u);
  EXPECT_EQ(c.admissions, c.finished + c.aborted);
}
