//===- MissReasonsTest.cpp - why a look-up did not find more --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

static MissReason reasonOf(const KvCacheManager &manager, const std::vector<TokenId> &prompt,
                           PrefixIdentity identity = {}) {
  return manager.peek(makeKey(manager, prompt, std::move(identity))).reason;
}

TEST(MissReason, EachIsToldApart) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  std::vector<TokenId> prompt = tokenRun(16);
  EXPECT_EQ(reasonOf(*manager, prompt), MissReason::NeverSeen);
  EXPECT_EQ(reasonOf(*manager, tokenRun(3)), MissReason::BelowOnePage);

  ASSERT_OK(manager->admit(1, makeKey(*manager, prompt)));
  EXPECT_EQ(reasonOf(*manager, prompt), MissReason::InFlight);
  ASSERT_OK(manager->markComputed(1, 8));
  EXPECT_EQ(reasonOf(*manager, prompt), MissReason::InFlight) << "at the page it computes next";
  ASSERT_OK(manager->markComputed(1, 16));
  ASSERT_OK(manager->finish(1));

  EXPECT_EQ(reasonOf(*manager, prompt), MissReason::LastToken);
  EXPECT_EQ(reasonOf(*manager, concat(prompt, tokenRun(2, 60))), MissReason::BelowOnePage);
  EXPECT_EQ(reasonOf(*manager, concat(prompt, tokenRun(8, 60))), MissReason::NeverSeen);
  PrefixMatch diverged = manager->peek(makeKey(*manager, concat(tokenRun(10), tokenRun(6, 60))));
  EXPECT_EQ(diverged.reason, MissReason::Diverged);
  EXPECT_EQ(diverged.divergedAt, 10);
  EXPECT_EQ(reasonOf(*manager, prompt, {.salt = "other", .adapter = "", .extraKeys = {}}),
            MissReason::OtherIdentity);

  manager->evict(1);
  EXPECT_EQ(reasonOf(*manager, prompt), MissReason::Evicted);
  EXPECT_EQ(manager->peek(makeKey(*manager, prompt)).hitTokens, 12);
}

TEST(MissReason, DisabledAndWithoutMemory) {
  auto off = makeManager({.numPages = 8, .pageSize = 4, .prefixCaching = false});
  EXPECT_EQ(serve(*off, 1, tokenRun(16)).reason, MissReason::Disabled);
  EXPECT_EQ(serve(*off, 2, tokenRun(16)).hitTokens, 0);
  auto forgetful = makeManager({.numPages = 8, .pageSize = 4, .missMemory = -1});
  serve(*forgetful, 1, tokenRun(16));
  forgetful->evict(8);
  EXPECT_EQ(reasonOf(*forgetful, tokenRun(16)), MissReason::NeverSeen);
}

TEST(MissReason, MissedTokensAddUpByReason) {
  auto manager = makeManager({.numPages = 64, .pageSize = 4});
  serve(*manager, 1, tokenRun(16));
  serve(*manager, 2, tokenRun(16));
  serve(*manager, 3, concat(tokenRun(6), tokenRun(10, 70)));
  serve(*manager, 4, tokenRun(16), {}, {.resumed = true});
  KvCounters c = manager->counters();
  EXPECT_EQ(c.lookups, 3) << "a resumed request is no first admission";
  EXPECT_EQ(c.queriedTokens, 48);
  EXPECT_EQ(c.hitTokens, 0 + 15 + 6);
  EXPECT_EQ(c.resumedHitTokens, 15);
  int64_t missed = 0;
  for (int64_t tokens : c.missedTokens)
    missed += tokens;
  EXPECT_EQ(missed, c.queriedTokens - c.hitTokens);
  EXPECT_EQ(c.missedTokens[int(MissReason::LastToken)], 1);
  EXPECT_EQ(c.missedTokens[int(MissReason::Diverged)], 10);
  EXPECT_EQ(c.missedTokens[int(MissReason::NeverSeen)], 16);
}

TEST(MissReason, NamesAreDistinct) {
  EXPECT_STREQ(missReasonName(MissReason::BelowOnePage), "below-one-page");
  EXPECT_STREQ(missReasonName(MissReason::OtherIdentity), "other-identity");
}
