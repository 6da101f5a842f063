//===- PrefixKeyTest.cpp - keys are unambiguous and complete --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <set>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

static PrefixKey key(std::vector<TokenId> tokens, PrefixIdentity identity = {},
                     std::vector<MediaSpan> media = {}) {
  return *PrefixKey::create({tokens, identity, media}, 4);
}

TEST(PrefixKey, HashesFullPagesOnlyAndChainsThem) {
  PrefixKey a = key({1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_EQ(a.pageHashes().size(), 2u);
  PrefixKey b = key({0, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NE(a.pageHashes()[0], b.pageHashes()[0]);
  EXPECT_NE(a.pageHashes()[1], b.pageHashes()[1]) << "equal tokens after another prefix";
}

TEST(PrefixKey, AppendGivesTheHashesOfTheWhole) {
  PrefixKey whole = key({1, 2, 3, 4, 5, 6, 7, 8});
  PrefixKey grown = key({1, 2, 3});
  ASSERT_OK(grown.append(std::vector<TokenId>{4, 5}));
  ASSERT_OK(grown.append(std::vector<TokenId>{6, 7, 8}));
  EXPECT_TRUE(std::ranges::equal(whole.pageHashes(), grown.pageHashes()));
  EXPECT_EQ(whole.contentTag(), grown.contentTag());
}

// The digests are part of events that other processes read: they must not change by accident. This
// one was computed with Python's hashlib.blake2b from the layout in PrefixKey.h.
TEST(PrefixKey, DigestIsStable) {
  EXPECT_EQ(
      key({1, 2, 3, 4}, {.salt = "s", .adapter = "a", .extraKeys = {"x"}}).pageHashes()[0].hex(),
      "11890b53da8ea16ef2aadf5fc7de8920");
}

// A49: moving a character from one field to the next must give another key.
TEST(PrefixKey, A49_FieldsAreUnambiguous) {
  std::vector<PrefixIdentity> identities = {
      {},
      {.salt = "ab", .adapter = "", .extraKeys = {}},
      {.salt = "a", .adapter = "b", .extraKeys = {}},
      {.salt = "", .adapter = "ab", .extraKeys = {}},
      {.salt = "", .adapter = "", .extraKeys = {"ab"}},
      {.salt = "", .adapter = "", .extraKeys = {"a", "b"}},
      {.salt = "", .adapter = "", .extraKeys = {"", "ab"}},
      {.salt = std::string("a\0b", 3), .adapter = "", .extraKeys = {}},
      {.salt = "a", .adapter = std::string("\0b", 2), .extraKeys = {}},
  };
  std::set<std::string> bytes, hashes;
  for (const PrefixIdentity &identity : identities) {
    PrefixKey k = key({1, 2, 3, 4}, identity);
    bytes.emplace(k.identityBytes());
    hashes.insert(k.pageHashes()[0].hex());
  }
  EXPECT_EQ(bytes.size(), identities.size());
  EXPECT_EQ(hashes.size(), identities.size());
}

TEST(PrefixKey, A49_MediaEnterThePagesTheyTouchAndAllAfter) {
  std::vector<TokenId> tokens = {1, 2, 3, 4, 9, 9, 7, 8, 5, 5, 5, 5};
  PrefixKey none = key(tokens), x = key(tokens, {}, {{4, 2, "x"}}),
            y = key(tokens, {}, {{4, 2, "y"}});
  PrefixKey elsewhere = key(tokens, {}, {{5, 2, "x"}});
  EXPECT_EQ(x.pageHashes()[0], y.pageHashes()[0]) << "the page before the image is shared";
  EXPECT_EQ(x.pageHashes()[0], none.pageHashes()[0]);
  for (int page : {1, 2}) {
    std::set<std::string> hashes;
    for (const PrefixKey *k : {&none, &x, &y, &elsewhere})
      hashes.insert(k->pageHashes()[page].hex());
    EXPECT_EQ(hashes.size(), 4u) << "page " << page;
  }
}

TEST(PrefixKey, RefusesBadInputWithASentence) {
  std::vector<TokenId> negative = {1, -2};
  auto bad = PrefixKey::create({.tokens = negative}, 4);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "prefix key expects token ids of 0 or more, got -2 at token 1");
  std::vector<TokenId> tokens = {1, 2, 3, 4};
  EXPECT_FALSE(PrefixKey::create({.tokens = tokens}, 0));
  EXPECT_FALSE(PrefixKey::create({.tokens = tokens}, 1025));
  for (std::vector<MediaSpan> media : {std::vector<MediaSpan>{{3, 2, "x"}},
                                       {{-1, 2, "x"}},
                                       {{0, 0, "x"}},
                                       {{0, 2, "x"}, {1, 2, "y"}},
                                       {{2, 1, "x"}, {0, 1, "y"}},
                                       {{1, 2147483647, "x"}}})
    EXPECT_FALSE(PrefixKey::create({tokens, {}, media}, 4));
  PrefixKey k = key({1, 2, 3});
  EXPECT_FALSE(k.append(negative));
  EXPECT_EQ(k.size(), 3);
}

TEST(PrefixKey, EmptyPromptHasNoPages) {
  PrefixKey k = key({});
  EXPECT_EQ(k.size(), 0);
  EXPECT_EQ(k.contentTag(), 0u);
}
