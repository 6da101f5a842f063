//===- RealTracesTest.cpp - the public traces, where they are at hand -----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The traces are not part of the project: PAGEFOLD_TRACES names their folder, or they lie in
// ../shared/traces beside the checkout. Without them these tests are skipped, and say so.
//
//===----------------------------------------------------------------------===//

#include "HitRates.h"
#include "Metrics.h"
#include "Synthetic.h"

#include "pagefold/runtime/TraceCache.h"

#include <cstdlib>
#include <filesystem>
#include <unordered_map>

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

std::string tracePath(const char *name) {
  const char *folder = std::getenv("PAGEFOLD_TRACES");
  std::string path =
      (folder ? std::string(folder) : PAGEFOLD_SOURCE "/../shared/traces") + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

#define NEED_TRACE(path, name)                                                                     \
  std::string path = tracePath(name);                                                              \
  if (path.empty())                                                                                \
  GTEST_SKIP() << name << " is not at hand: set PAGEFOLD_TRACES to its folder"

CostModel llamaOnH200(uint32_t pageSize = 16) {
  Model model = expectValue(readModel(PAGEFOLD_SOURCE "/examples/models/llama-3-8b.json"));
  model.pageSize = pageSize;
  return CostModel(model, *readDevice("H200"));
}

TEST(RealTraces, MooncakeHitRatesByCapacity) {
  NEED_TRACE(path, "mooncake_conversation.jsonl");
  Trace trace = expectValue(readTrace(path, {}));
  HitRate all = hitRate(trace, Eviction::LeastRecent, 0);
  EXPECT_NEAR(all.spans, 0.366, 0.005);
  EXPECT_NEAR(all.tokens, 0.374, 0.005);
  EXPECT_NEAR(all.requests, 0.409, 0.005);
  struct Known {
    size_t spans;
    double lru, lfu;
  };
  for (Known known : {Known{1000, 0.045, 0.049},
                      {3000, 0.066, 0.076},
                      {10000, 0.215, 0.134},
                      {30000, 0.332, 0.281},
                      {50000, 0.362, 0.351},
                      {100000, 0.371, 0.370}}) {
    EXPECT_NEAR(hitRate(trace, Eviction::LeastRecent, known.spans).tokens, known.lru, 0.005);
    EXPECT_NEAR(hitRate(trace, Eviction::LeastFrequent, known.spans).tokens, known.lfu, 0.005);
  }
  EXPECT_NEAR(hitRateAtGranule(trace, 1024), 0.340, 0.005);
  EXPECT_NEAR(hitRateAtGranule(trace, 2048), 0.321, 0.005);
  EXPECT_NEAR(hitRateAtGranule(trace, 4096), 0.291, 0.005);
}

// The same question to the runtime's own index and eviction, which take leaves only.
TEST(RealTraces, MooncakeHitRatesAgreeWithTheRuntime) {
  NEED_TRACE(path, "mooncake_conversation.jsonl");
  Trace trace = expectValue(readTrace(path, {}));
  auto cache = pagefold::runtime::TraceCache::create({.capacity = 10000});
  ASSERT_TRUE(cache);
  uint64_t tokens = 0;
  for (const TraceRequest &request : trace.requests) {
    std::vector<int32_t> ids(request.spans.begin(), request.spans.end());
    auto found = (*cache)->access(ids);
    ASSERT_TRUE(found);
    tokens += std::min<uint64_t>(uint64_t(found->hitBlocks) * 512, request.promptTokens - 1);
  }
  EXPECT_NEAR(double(tokens) / double(trace.promptTokens()),
              hitRate(trace, Eviction::LeastRecent, 10000).tokens, 0.005);
}

TEST(RealTraces, AzureTailWaste) {
  NEED_TRACE(path, "azure_conv_2023.csv");
  Trace trace = expectValue(readTrace(path, {}));
  EXPECT_EQ(trace.requests.size(), 19366u);
  EXPECT_NEAR(finalTailWaste(trace, 16), 0.0054, 0.0001);
  EXPECT_NEAR(finalTailWaste(trace, 64), 0.022, 0.0005);
  EXPECT_NEAR(finalTailWaste(trace, 256), 0.080, 0.0005);
}

// replay() fails where totals do not reconcile.
TEST(RealTraces, AzureReconciles) {
  NEED_TRACE(path, "azure_conv_2023.csv");
  Trace trace = expectValue(readTrace(path, {.limit = 2000}));
  ReplayResult result = expectValue(replay(trace, llamaOnH200(), {}));
  Metrics metrics = measure(trace, result, {});
  EXPECT_EQ(metrics.completed, 2000u);
  EXPECT_FALSE(metrics.reuse);
  EXPECT_FALSE(metrics.saturation.saturated);
}

TEST(RealTraces, MooncakeReconcilesAndSaturates) {
  NEED_TRACE(path, "mooncake_conversation.jsonl");
  Trace trace = expectValue(readTrace(path, {.limit = 1500}));
  ReplayResult result = expectValue(replay(trace, llamaOnH200(), {}));
  Metrics metrics = measure(trace, result, {});
  EXPECT_EQ(metrics.completed, 1500u);
  EXPECT_TRUE(metrics.saturation.saturated);
  EXPECT_LE(metrics.reuse->byTokens, metrics.reuse->ceiling);
  EXPECT_GT(result.scheduler.preemptions, 0);
}

} // namespace
