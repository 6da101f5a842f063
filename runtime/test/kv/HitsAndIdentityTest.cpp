//===- HitsAndIdentityTest.cpp - what is a hit, and for whom --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <random>
#include <set>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

// A47: sent twice, every prompt reuses at most prompt - 1 tokens, and never more than were stored.
TEST(Hits, A47_AtLeastOneTokenIsComputed) {
  for (int32_t size : {64, 63, 65, 16, 1, 40}) {
    auto manager = makeManager({.numPages = 16, .pageSize = 16});
    std::vector<TokenId> prompt = tokenRun(size);
    EXPECT_EQ(serve(*manager, 1, prompt).hitTokens, 0);
    PrefixMatch again = serve(*manager, 2, prompt);
    EXPECT_EQ(again.matchedTokens, size);
    EXPECT_EQ(again.hitTokens, size - 1) << size;
    EXPECT_EQ(again.hitPages, (size - 1) / 16);
    EXPECT_EQ(again.partialTokens, (size - 1) % 16);
    EXPECT_EQ(again.reason, MissReason::LastToken);
  }
}

TEST(Hits, A47_CachedTailLongerThanThePromptIsCutToIt) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  serve(*manager, 1, tokenRun(40)); // leaves a partial page of 8 tokens
  PrefixMatch shorter = serve(*manager, 2, tokenRun(36));
  EXPECT_EQ(shorter.hitTokens, 35);
  PrefixMatch longer = serve(*manager, 3, tokenRun(60));
  EXPECT_EQ(longer.hitTokens, 40) << "no more than what is stored";
  EXPECT_EQ(longer.partialTokens, 8);
}

TEST(Hits, PartialHitIsACopyOfTheRightTokens) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  runPrompt(*manager, 1, tokenRun(32));
  std::vector<PageId> first = pageIds(*manager, 1);
  std::vector<TokenId> prompt = concat(tokenRun(21), tokenRun(20, 500));
  auto admission = manager->admit(2, makeKey(*manager, prompt));
  ASSERT_OK(admission);
  EXPECT_EQ(admission->match.hitTokens, 21);
  EXPECT_EQ(admission->match.reason, MissReason::Diverged);
  EXPECT_EQ(admission->match.divergedAt, 21);
  std::vector<PageId> second = pageIds(*manager, 2);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_NE(second[1], first[1]);
  EXPECT_EQ(manager->drainChanges().copies, (std::vector<PageCopy>{{first[1], second[1], 5}}));
}

TEST(Hits, WhatIsNotComputedIsNotFound) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  std::vector<TokenId> prompt = tokenRun(64);
  ASSERT_OK(manager->admit(1, makeKey(*manager, prompt)));
  EXPECT_EQ(manager->peek(makeKey(*manager, prompt)).matchedTokens, 0);
  ASSERT_OK(manager->markComputed(1, 40));
  EXPECT_EQ(manager->peek(makeKey(*manager, prompt)).matchedTokens, 32)
      << "the running request's partial page is not for others";
}

TEST(Hits, DuplicateInFlightMovesToTheFindablePage) {
  auto manager = makeManager({.numPages = 16, .pageSize = 16});
  std::vector<TokenId> prompt = tokenRun(32);
  ASSERT_OK(manager->admit(1, makeKey(*manager, prompt)));
  auto second = manager->admit(2, makeKey(*manager, prompt));
  ASSERT_OK(second);
  EXPECT_EQ(second->match.reason, MissReason::InFlight);
  ASSERT_OK(manager->markComputed(1, 32));
  ASSERT_OK(manager->markComputed(2, 32));
  EXPECT_EQ(pageIds(*manager, 1), pageIds(*manager, 2));
  EXPECT_EQ(manager->counters().livePages, 2);
  EXPECT_EQ(manager->counters().duplicatesMerged, 2);
  EXPECT_OK(manager->verifyInvariants());
}

// A48: with a hash of no use, every page returned still has the exact chain of tokens.
TEST(Hits, A48_SafetyDoesNotDependOnTheHash) {
  for (PageHashKind kind : {PageHashKind::Constant, PageHashKind::FourBits}) {
    auto manager = makeManager({.numPages = 512, .pageSize = 4, .hash = kind});
    std::mt19937 random(11);
    std::set<std::vector<TokenId>> prefixes; // every full page prefix ever computed
    for (RequestId id = 1; id <= 1000; ++id) {
      std::vector<TokenId> prompt(1 + random() % 24);
      for (TokenId &token : prompt)
        token = random() % 2;
      PrefixMatch match = serve(*manager, id, prompt);
      if (match.hitPages > 0) {
        std::vector<TokenId> hit(prompt.begin(), prompt.begin() + match.hitPages * 4);
        EXPECT_TRUE(prefixes.contains(hit));
      }
      for (size_t end = 4; end <= prompt.size(); end += 4)
        prefixes.emplace(prompt.begin(), prompt.begin() + end);
    }
    EXPECT_GT(manager->counters().hitPages, 0);
  }
}

// A49: only equal identities share.
TEST(Identity, A49_EveryFieldSeparates) {
  std::vector<PrefixIdentity> identities = {
      {},
      {.salt = "s1", .adapter = "", .extraKeys = {}},
      {.salt = "s2", .adapter = "", .extraKeys = {}},
      {.salt = "", .adapter = "A@1", .extraKeys = {}},
      {.salt = "", .adapter = "A@2", .extraKeys = {}}, // reloaded with other weights
      {.salt = "", .adapter = "B@1", .extraKeys = {}},
      {.salt = "", .adapter = "", .extraKeys = {"x"}},
  };
  for (PageHashKind kind : {PageHashKind::Blake2b, PageHashKind::Constant}) {
    auto manager = makeManager({.numPages = 64, .pageSize = 16, .hash = kind});
    std::vector<TokenId> prompt = tokenRun(40);
    RequestId id = 0;
    for (const PrefixIdentity &identity : identities)
      EXPECT_EQ(serve(*manager, ++id, prompt, identity).hitTokens, 0) << id;
    for (const PrefixIdentity &identity : identities)
      EXPECT_EQ(serve(*manager, ++id, prompt, identity).hitTokens, 39) << id;
  }
}

TEST(Identity, A49_ImagesBehindEqualPlaceholders) {
  for (PageHashKind kind : {PageHashKind::Blake2b, PageHashKind::Constant}) {
    auto manager = makeManager({.numPages = 64, .pageSize = 4, .hash = kind});
    std::vector<TokenId> prompt = concat(tokenRun(4), std::vector<TokenId>(8, 99));
    RequestId id = 0;
    auto hit = [&](std::vector<MediaSpan> media) {
      auto admission = manager->admit(++id, makeKey(*manager, prompt, {}, std::move(media)));
      EXPECT_OK(admission);
      manager->drainChanges();
      EXPECT_OK(manager->markComputed(id, 12));
      EXPECT_OK(manager->finish(id));
      EXPECT_OK(manager->verifyInvariants());
      return admission->match.hitTokens;
    };
    EXPECT_EQ(hit({{4, 6, "x"}}), 0);
    EXPECT_EQ(hit({{4, 6, "x"}}), 11);
    EXPECT_EQ(hit({{4, 6, "y"}}), 4) << "shared up to the image";
    EXPECT_EQ(hit({{5, 6, "x"}}), 4) << "the same image, one token further";
    EXPECT_EQ(hit({{4, 3, "x"}, {7, 3, "x"}}), 4) << "two short images are not one long one";
    EXPECT_EQ(hit({}), 5) << "placeholders that stand for themselves: one precedes the moved image";
    EXPECT_EQ(hit({{4, 6, "y"}}), 11);
  }
}

TEST(Identity, MediaIdsAreGivenBack) {
  auto manager = makeManager({.numPages = 8, .pageSize = 4});
  std::vector<TokenId> prompt(8, 1);
  for (RequestId id = 1; id <= 2000; ++id) {
    ASSERT_OK(manager->admit(id, makeKey(*manager, prompt, {}, {{2, 4, std::to_string(id)}})));
    manager->drainChanges();
    ASSERT_OK(manager->markComputed(id, 8));
    ASSERT_OK(manager->finish(id));
    // Ids are reused after a sweep; never may another image hit through one.
    ASSERT_EQ(manager->peek(makeKey(*manager, prompt, {}, {{2, 4, "never"}})).matchedTokens, 2);
  }
  EXPECT_GT(manager->counters().evictions, 1000);
}

// A51: a page found at no users is pinned by the same call, before others can take it.
TEST(Hits, A51_FoundPagesAreHeldOrMissedAndEvictedOnesForgotten) {
  auto manager = makeManager({.numPages = 4, .pageSize = 16});
  std::vector<TokenId> prompt = tokenRun(33);
  serve(*manager, 1, prompt); // three idle pages
  ASSERT_EQ(manager->counters().idlePages, 3);
  auto holder = manager->admit(2, makeKey(*manager, prompt));
  ASSERT_OK(holder);
  EXPECT_EQ(holder->match.hitPages, 2);
  auto other = manager->admit(3, makeKey(*manager, tokenRun(64, 900)));
  ASSERT_FALSE(other) << "two pages are held";
  EXPECT_EQ(other.error().code(), ErrorCode::OutOfCapacity);
  ASSERT_OK(manager->abort(2));
  ASSERT_OK(manager->admit(3, makeKey(*manager, tokenRun(64, 900)))); // takes all four
  EXPECT_EQ(manager->peek(makeKey(*manager, prompt)).matchedTokens, 0);
  ASSERT_OK(manager->markComputed(3, 64));
  EXPECT_EQ(manager->peek(makeKey(*manager, prompt)).matchedTokens, 0) << "not after reuse either";
  EXPECT_OK(manager->verifyInvariants());
}

TEST(Hits, ClearForgetsEverythingAlsoWhatRuns) {
  auto manager = makeManager({.numPages = 16, .pageSize = 4});
  serve(*manager, 1, tokenRun(16));
  runPrompt(*manager, 2, tokenRun(20));
  manager->clearCache();
  EXPECT_OK(manager->verifyInvariants());
  EXPECT_EQ(manager->peek(makeKey(*manager, tokenRun(20))).matchedTokens, 0);
  ASSERT_OK(manager->append(2, tokenRun(8)));
  ASSERT_OK(manager->reserve(2, 28));
  ASSERT_OK(manager->markComputed(2, 28)); // made from what was to be forgotten
  EXPECT_EQ(manager->counters().cachedPages, 0);
  ASSERT_OK(manager->finish(2));
  EXPECT_EQ(manager->counters().freePages, 16);
}
