//===- HitRatesTest.cpp - reuse that is in a trace ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HitRates.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

std::string line(int time, int tokens, const char *ids) {
  return R"({"timestamp": )" + std::to_string(time) + R"(, "input_length": )" +
         std::to_string(tokens) + R"(, "output_length": 1, "hash_ids": [)" + ids + "]}\n";
}

TEST(HitRates, InfiniteCacheFindsTheContiguousPrefix) {
  // 16 of 24, then nothing: span 3 is known, but stands behind a hole.
  Trace trace = traceOf(line(0, 24, "1, 2, 3") + line(1, 24, "1, 2, 4") + line(2, 16, "5, 3"));
  HitRate rate = hitRate(trace, Eviction::LeastRecent, 0);
  EXPECT_NEAR(rate.tokens, 16.0 / 64, 1e-12);
  EXPECT_NEAR(rate.spans, 2.0 / 8, 1e-12);
  EXPECT_NEAR(rate.requests, (0 + 16.0 / 24 + 0) / 3, 1e-12);
  EXPECT_EQ(distinctSpans(trace), 5u);
}

TEST(HitRates, TheLastTokenIsNeverAHit) {
  Trace trace = traceOf(line(0, 16, "1, 2") + line(1, 16, "1, 2"));
  EXPECT_NEAR(hitRate(trace, Eviction::LeastRecent, 0).tokens, 15.0 / 32, 1e-12);
  EXPECT_EQ(infiniteCacheHits(trace), (std::vector<uint32_t>{0, 15}));
}

TEST(HitRates, PoliciesEvictTheirOwnChoice) {
  // Capacity 2, when 3 comes: LRU drops 1 (asked for twice, but longest ago), LFU drops 2.
  Trace trace = traceOf(line(0, 8, "1") + line(1, 8, "1") + line(2, 8, "2") + line(3, 8, "3") +
                        line(4, 8, "1"));
  EXPECT_NEAR(hitRate(trace, Eviction::LeastRecent, 2).tokens, 7.0 / 40, 1e-12);
  EXPECT_NEAR(hitRate(trace, Eviction::LeastFrequent, 2).tokens, 14.0 / 40, 1e-12);
}

TEST(HitRates, CoarseGranulesLoseReuse) {
  Trace trace = traceOf(line(0, 32, "1, 2, 3, 4") + line(1, 32, "1, 2, 3, 5"));
  EXPECT_NEAR(hitRateAtGranule(trace, 8), 24.0 / 64, 1e-12);
  EXPECT_NEAR(hitRateAtGranule(trace, 16), 16.0 / 64, 1e-12);
  EXPECT_NEAR(hitRateAtGranule(trace, 32), 0, 1e-12);
}

} // namespace
