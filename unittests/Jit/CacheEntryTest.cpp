//===- CacheEntryTest.cpp - kept artifacts as bytes -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheEntry.h"
#include "JitFixture.h"
#include <gtest/gtest.h>

using namespace pagefold::jit;
using namespace pagefold::jit::test;

static const Compiled kCompiled{std::string("an\0artifact", 11), "remarks\n"};

TEST(CacheEntry, GivesBackWhatWasWritten) {
  for (const Compiled &compiled : {kCompiled, Compiled{"", ""}, Compiled{"", "remarks"}}) {
    std::optional<Compiled> read = readEntry(keyNumber(1), writeEntry(keyNumber(1), compiled));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->artifact, compiled.artifact);
    EXPECT_EQ(read->remarks, compiled.remarks);
  }
}

TEST(CacheEntry, A60_RefusesAnotherKeysBytes) {
  EXPECT_FALSE(readEntry(keyNumber(2), writeEntry(keyNumber(1), kCompiled)));
}

TEST(CacheEntry, A60_RefusesEveryDamage) {
  const CompileKey key = keyNumber(1);
  const std::string bytes = writeEntry(key, kCompiled);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(readEntry(key, bytes.substr(0, i))) << "cut to " << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(readEntry(key, damaged)) << "byte " << i << ", bit " << bit;
    }
  }
  EXPECT_FALSE(readEntry(key, bytes + '\0'));
  EXPECT_FALSE(readEntry(key, std::string(bytes.size(), '\0')));
}
