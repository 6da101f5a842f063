//===- CopyOnWriteTest.cpp - forks share until one of them writes ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveModel.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

static const std::vector<TokenId> kOne = {7};

// A55: three beams off a page of four tokens: two copies, the last writer stays in place.
TEST(CopyOnWrite, A55_ThreeBeamsShareFullPagesAndCopyTheTail) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(20));
  std::vector<PageId> before = pageIds(*manager, 1);
  ASSERT_OK(manager->fork(1, 2));
  ASSERT_OK(manager->fork(1, 3));
  EXPECT_EQ(manager->counters().sharedPages, 2);
  EXPECT_EQ(manager->counters().livePages, 2);

  std::vector<Reservation> step = {{1, 21}, {2, 21}, {3, 21}};
  for (RequestId id : {1, 2, 3})
    ASSERT_OK(manager->append(id, kOne));
  ASSERT_OK(manager->reserve(step));
  ASSERT_OK(manager->verifyInvariants());
  std::vector<PageId> a = pageIds(*manager, 1), b = pageIds(*manager, 2), c = pageIds(*manager, 3);
  EXPECT_EQ(a[0], before[0]);
  EXPECT_EQ(b[0], before[0]);
  EXPECT_EQ(c[0], before[0]);
  EXPECT_EQ(c[1], before[1]) << "the last writer is alone by then";
  EXPECT_EQ(manager->drainChanges().copies,
            (std::vector<PageCopy>{{before[1], a[1], 4}, {before[1], b[1], 4}}));
  EXPECT_EQ(manager->counters().copiesOnWrite, 2);
}

TEST(CopyOnWrite, A55_ForkAtAPageEdgeCopiesNothing) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(32));
  ASSERT_OK(manager->fork(1, 2));
  for (RequestId id : {1, 2}) {
    ASSERT_OK(manager->append(id, kOne));
    ASSERT_OK(manager->reserve(id, 33));
  }
  EXPECT_TRUE(manager->drainChanges().copies.empty());
  EXPECT_EQ(manager->counters().livePages, 4); // two shared, one each
}

TEST(CopyOnWrite, A55_PoolFullFailsCleanly) {
  auto manager = makeManager({.numPages = 2, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(20));
  ASSERT_OK(manager->fork(1, 2));
  ASSERT_OK(manager->append(1, kOne));
  Status full = manager->reserve(1, 21);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), ErrorCode::OutOfCapacity);
  EXPECT_EQ(pageIds(*manager, 1), pageIds(*manager, 2));
  EXPECT_TRUE(manager->drainChanges().copies.empty());
  EXPECT_OK(manager->verifyInvariants());
  ASSERT_OK(manager->abort(2));
  EXPECT_OK(manager->reserve(1, 21)) << "alone, it writes in place";
}

// The second request hits inside the page that the first still writes: its bytes must not change.
TEST(CopyOnWrite, A55_ContentsAreAsIfAlone) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  PrefixDictionary dictionary;
  Memory memory(16, 16);
  auto device = [&] { memory.copy(manager->drainChanges().copies); };
  auto compute = [&](RequestId id, const std::vector<TokenId> &tokens, int32_t from) {
    ASSERT_OK(manager->reserve(id, static_cast<int32_t>(tokens.size())));
    device();
    auto numbers = dictionary.numbers("", tokens);
    std::vector<PageId> pages = pageIds(*manager, id);
    for (size_t i = from; i < tokens.size(); ++i)
      memory.at(pages[i / 16], i % 16) = numbers[i];
    ASSERT_OK(manager->markComputed(id, static_cast<int32_t>(tokens.size())));
  };
  auto check = [&](RequestId id, const std::vector<TokenId> &tokens) {
    auto numbers = dictionary.numbers("", tokens);
    std::vector<PageId> pages = pageIds(*manager, id);
    for (size_t i = 0; i < tokens.size(); ++i)
      ASSERT_EQ(memory.at(pages[i / 16], i % 16), numbers[i]) << "request " << id << " token " << i;
  };
  std::vector<TokenId> a = tokenRun(20), b = concat(tokenRun(20), tokenRun(20, 300));
  ASSERT_OK(manager->admit(1, makeKey(*manager, a)));
  compute(1, a, 0);
  auto second = manager->admit(2, makeKey(*manager, b));
  ASSERT_OK(second);
  compute(2, b, second->match.hitTokens);
  ASSERT_OK(manager->fork(1, 3));
  std::vector<TokenId> c = concat(a, tokenRun(5, 700));
  ASSERT_OK(manager->append(3, tokenRun(5, 700)));
  compute(3, c, 20);
  check(1, a);
  check(2, b);
  check(3, c);
  EXPECT_OK(manager->verifyInvariants());
}

TEST(CopyOnWrite, ForkOfAPageStillToBeFilledCopiesFromTheSource) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(32));
  PageId source = pageIds(*manager, 1)[1];
  std::vector<TokenId> prompt = concat(tokenRun(21), tokenRun(9, 500));
  ASSERT_OK(manager->admit(2, makeKey(*manager, prompt))); // a copy of 5 tokens is due
  ASSERT_OK(manager->fork(2, 3));
  ASSERT_OK(manager->reserve(3, 30));
  ASSERT_OK(manager->verifyInvariants());
  std::vector<PageCopy> copies = manager->drainChanges().copies;
  ASSERT_EQ(copies.size(), 2u);
  for (const PageCopy &copy : copies)
    EXPECT_EQ(copy.source, source);
}

TEST(CopyOnWrite, AbortDropsTheCopyAndReturnsExactlyWhatWasTaken) {
  auto manager = makeManager({.numPages = 8, .pageSize = 16});
  serve(*manager, 1, tokenRun(32));
  KvCounters before = manager->counters();
  ASSERT_OK(manager->admit(2, makeKey(*manager, concat(tokenRun(21), tokenRun(30, 500)))));
  ASSERT_OK(manager->abort(2));
  KvCounters after = manager->counters();
  EXPECT_EQ(after.freePages, before.freePages);
  EXPECT_EQ(after.idlePages, before.idlePages);
  EXPECT_EQ(after.livePages, 0);
  EXPECT_TRUE(manager->drainChanges().copies.empty());
  EXPECT_OK(manager->verifyInvariants());
}

TEST(CopyOnWrite, WritingWithoutTheCopyOrTheReservationIsRefused) {
  auto manager = makeManager({.numPages = 8, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(20));
  ASSERT_OK(manager->fork(1, 2));
  ASSERT_OK(manager->append(1, kOne));
  EXPECT_FALSE(manager->markComputed(1, 21)) << "the page is shared and was not reserved";
  ASSERT_OK(manager->reserve(1, 21));
  EXPECT_FALSE(manager->markComputed(1, 21)) << "the copy is not done";
  manager->drainChanges();
  EXPECT_OK(manager->markComputed(1, 21));
}
