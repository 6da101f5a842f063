//===- MemoryCacheTest.cpp - artifacts of this process --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryCache.h"
#include "JitFixture.h"
#include <gtest/gtest.h>
#include <thread>

using namespace pagefold::jit;
using namespace pagefold::jit::test;

static Compiled ofSize(size_t size) { return {std::string(size, 'a'), ""}; }

TEST(MemoryCache, DropsWhatWasNotUsedForLongest) {
  MemoryCache cache(100);
  for (uint8_t number : {1, 2, 3})
    cache.keep(keyNumber(number), ofSize(30));
  EXPECT_TRUE(cache.find(keyNumber(1)));
  cache.keep(keyNumber(4), ofSize(40)); // takes the place of 2, unused since
  EXPECT_TRUE(cache.find(keyNumber(1)));
  EXPECT_FALSE(cache.find(keyNumber(2)));
  EXPECT_TRUE(cache.find(keyNumber(3)));
  EXPECT_TRUE(cache.find(keyNumber(4)));
}

TEST(MemoryCache, TakesNothingThatNeverFits) {
  MemoryCache cache(100);
  cache.keep(keyNumber(1), ofSize(100));
  cache.keep(keyNumber(2), ofSize(101));
  EXPECT_TRUE(cache.find(keyNumber(1)));
  EXPECT_FALSE(cache.find(keyNumber(2)));
}

TEST(MemoryCache, ManyThreads) {
  MemoryCache cache(1000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto number = static_cast<uint8_t>(i % 50);
        cache.keep(keyNumber(number), ofSize(number + 1));
        std::optional<Compiled> found = cache.find(keyNumber(number));
        wrong += found && found->artifact.size() != number + 1u;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}
