//===- TraceHitRateTest.cpp - hit rates by capacity of a trace of block ids -===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "pagefold/runtime/TraceCache.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {

std::unique_ptr<TraceCache> makeTraceCache(int32_t capacity,
                                           EvictionPolicy policy = EvictionPolicy::Lru) {
  return std::move(*TraceCache::create({capacity, policy}));
}

struct TracePrompt {
  int32_t tokens = 0;
  std::vector<int32_t> blocks;
};

/// The two fields of a Mooncake line that matter here; the format is flat and fixed.
TracePrompt parseLine(const std::string &line) {
  TracePrompt prompt;
  auto after = [&](const char *name) { return line.substr(line.find(name) + std::strlen(name)); };
  prompt.tokens = std::atoi(after("\"input_length\":").c_str());
  std::istringstream ids(after("\"hash_ids\": ["));
  for (int32_t id; ids >> id; ids.ignore(2))
    prompt.blocks.push_back(id);
  return prompt;
}

/// From $PAGEFOLD_TRACES, or shared/traces beside the checkout; empty if neither is there.
std::vector<TracePrompt> readMooncakeTrace() {
  const char *given = std::getenv("PAGEFOLD_TRACES");
  std::filesystem::path beside = std::filesystem::path(PAGEFOLD_CHECKOUT) / "../shared/traces";
  std::ifstream file((given ? std::filesystem::path(given) : beside) /
                     "mooncake_conversation.jsonl");
  std::vector<TracePrompt> prompts;
  for (std::string line; std::getline(file, line);)
    prompts.push_back(parseLine(line));
  return prompts;
}

double tokenHitPercent(const std::vector<TracePrompt> &trace, int32_t capacity,
                       EvictionPolicy policy) {
  auto cache = makeTraceCache(capacity, policy);
  int64_t hit = 0, all = 0;
  for (const TracePrompt &prompt : trace) {
    TraceLookup found = *cache->access(prompt.blocks);
    hit += std::min(found.hitBlocks * 512, prompt.tokens);
    all += prompt.tokens;
  }
  return 100.0 * hit / all;
}

} // namespace

TEST(TraceCache, CountsHitsColdAndEvictedBlocks) {
  auto cache = makeTraceCache(4);
  TraceLookup first = *cache->access(std::vector<int32_t>{0, 1, 2});
  EXPECT_EQ(first.hitBlocks, 0);
  EXPECT_EQ(first.coldBlocks, 3);
  TraceLookup again = *cache->access(std::vector<int32_t>{0, 1, 2, 3});
  EXPECT_EQ(again.hitBlocks, 3);
  EXPECT_EQ(again.coldBlocks, 1);
  (void)cache->access(
      std::vector<int32_t>{4, 5, 6}); // leaves room for one block of the first prompt
  TraceLookup evicted = *cache->access(std::vector<int32_t>{0, 1, 2, 3});
  EXPECT_EQ(evicted.hitBlocks, 1);
  EXPECT_EQ(evicted.evictedBlocks, 3);
  EXPECT_EQ(cache->size(), 4);
}

TEST(TraceCache, PromptLongerThanTheCapacityKeepsItsBeginning) {
  auto cache = makeTraceCache(2);
  std::vector<int32_t> prompt = {0, 1, 2, 3};
  (void)cache->access(prompt);
  EXPECT_EQ(cache->access(prompt)->hitBlocks, 2);
}

TEST(TraceCache, LfuKeepsWhatIsUsedOften) {
  for (EvictionPolicy policy : {EvictionPolicy::Lru, EvictionPolicy::Lfu}) {
    auto cache = makeTraceCache(3, policy);
    for (int i = 0; i < 5; ++i)
      (void)cache->access(std::vector<int32_t>{0});
    for (int32_t other = 1; other < 8; ++other)
      (void)cache->access(std::vector<int32_t>{other});
    EXPECT_EQ(cache->access(std::vector<int32_t>{0})->hitBlocks, policy == EvictionPolicy::Lfu);
  }
}

TEST(TraceCache, RefusesBadInput) {
  EXPECT_FALSE(TraceCache::create({.capacity = 0}));
  EXPECT_FALSE(makeTraceCache(3)->access(std::vector<int32_t>{1, -1}));
}

// The numbers were computed from the trace with another program: plain LRU and LFU over blocks.
TEST(TraceCache, MooncakeConversationHitRatesByCapacity) {
  std::vector<TracePrompt> trace = readMooncakeTrace();
  if (trace.empty())
    GTEST_SKIP() << "no mooncake_conversation.jsonl: set PAGEFOLD_TRACES to its folder";
  ASSERT_EQ(trace.size(), 12031u);
  struct Row {
    int32_t capacity;
    double lru, lfu;
  };
  for (Row row : {Row{1000, 4.5, 4.9},
                  {3000, 6.6, 7.6},
                  {10000, 21.5, 13.4},
                  {30000, 33.2, 28.1},
                  {50000, 36.2, 35.1},
                  {100000, 37.1, 37.0}}) {
    double lru = tokenHitPercent(trace, row.capacity, EvictionPolicy::Lru);
    double lfu = tokenHitPercent(trace, row.capacity, EvictionPolicy::Lfu);
    std::printf("%7d blocks: LRU %.2f %% (%.1f), LFU %.2f %% (%.1f)\n", row.capacity, lru, row.lru,
                lfu, row.lfu);
    EXPECT_NEAR(lru, row.lru, 0.5) << row.capacity;
    EXPECT_NEAR(lfu, row.lfu, 0.5) << row.capacity;
  }
}
