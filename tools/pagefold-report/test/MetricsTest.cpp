//===- MetricsTest.cpp - saturation, waste, what-ifs ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnosis.h"
#include "Report.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

/// `count` requests of 8 tokens in and `output` out, one each `gap` milliseconds.
Trace steadyTrace(int count, int gap, int output) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += R"({"timestamp": )" + std::to_string(i * gap) +
             R"(, "input_length": 8, "output_length": )" + std::to_string(output) + "}\n";
  return traceOf(lines);
}

Metrics measured(const Trace &trace, ReplayOptions options = {}) {
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), options));
  return measure(trace, result, {});
}

TEST(Saturation, ASteadyServiceKeepsUp) {
  // Four at most run at once in 16 pages; each needs 4 pages for 80 ms.
  Metrics metrics = measured(steadyTrace(200, 50, 8));
  EXPECT_FALSE(metrics.saturation.saturated);
  EXPECT_LT(metrics.ttft.p99, 0.1);
}

TEST(Saturation, AFallingBehindServiceIsSaturatedByPages) {
  Metrics metrics = measured(steadyTrace(200, 5, 8));
  EXPECT_TRUE(metrics.saturation.saturated);
  EXPECT_EQ(metrics.bottleneck, Bottleneck::KvCapacity);
  EXPECT_GT(metrics.saturation.ttftSlope, 0.5);
}

TEST(Saturation, OneSequenceAtATimeIsNotForWantOfPages) {
  ReplayOptions options;
  options.scheduler.maxRunning = 1;
  Trace trace = steadyTrace(100, 5, 8);
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), options));
  EXPECT_GT(result.waiting.sequences, 0.9 * result.time.busy);
  EXPECT_EQ(result.waiting.pages, 0);
}

TEST(Metrics, TailWaste) {
  Trace trace = traceOf(R"({"timestamp": 0, "input_length": 8, "output_length": 2})");
  EXPECT_NEAR(finalTailWaste(trace, 1), 0, 1e-12);
  EXPECT_NEAR(finalTailWaste(trace, 4), 1 - 10.0 / 12, 1e-12);
  EXPECT_NEAR(finalTailWaste(trace, 16), 1 - 10.0 / 16, 1e-12);
}

TEST(Metrics, TimesOfPartsAddUp) {
  Model model =
      expectValue(readModel(std::string(PAGEFOLD_SOURCE) + "/examples/models/llama-3-8b.json"));
  CostModel cost(model, *readDevice("H200"));
  Trace trace = steadyTrace(20, 5, 8);
  ReplayResult result = expectValue(replay(trace, cost, {}));
  const TimeSpent &time = result.time;
  EXPECT_NEAR(time.busy, time.overhead + time.prefill() + time.decode(), 1e-9);
  EXPECT_NEAR(time.busy, time.overhead + time.compute() + time.bandwidth(), 1e-9);
  double binned = 0;
  for (const TimeBin &bin : result.series.bins())
    binned += bin.time;
  EXPECT_NEAR(binned, time.busy, 1e-9);
}

TEST(WhatIf, FewerKvHeadsHoldMoreTokens) {
  CostModel cost = tenMillisecondSteps();
  ReplayResult result = expectValue(replay(syntheticTrace(), cost, {}));
  std::vector<GroupRow> rows = groupTable(cost, result);
  ASSERT_EQ(rows.size(), 3u); // 1, 2, 4 of 4 query heads
  EXPECT_EQ(rows[1].kvHeads, 2u);
  EXPECT_EQ(rows[1].poolTokens, 64);
  EXPECT_EQ(rows[0].poolTokens, 128);
  EXPECT_EQ(rows[2].poolTokens, 32);
  EXPECT_NEAR(rows[1].meanStep, 0.010, 1e-9);
}

TEST(WhatIf, LeversChangeWhatTheySay) {
  Trace trace = steadyTrace(100, 5, 8);
  Report report = expectValue(makeReport({trace, {}, tenMillisecondSteps(), {}, {}, 100}));
  ASSERT_EQ(report.levers.requests, 100u);
  EXPECT_NEAR(report.levers.base.endToEnd, report.metrics.endToEnd.mean, 1e-9);
  for (const Lever &lever : report.levers.tried) {
    // All time is overhead, so that without it none is left; kernels change nothing.
    if (lever.kind == "overhead") {
      EXPECT_LT(lever.endToEndChange, -0.99);
    }
    if (lever.kind == "kernel") {
      EXPECT_NEAR(lever.endToEndChange, 0, 1e-6);
    }
    if (lever.kind == "capacity") {
      EXPECT_LT(lever.endToEndChange, -0.2);
    }
  }
  EXPECT_EQ(report.levers.tried.front().kind, "overhead");
}

TEST(Diagnosis, KeepsItsOrder) {
  Report report = expectValue(makeReport({syntheticTrace(), {}, tenMillisecondSteps(), {}, {}, 3}));
  std::vector<std::string> topics;
  for (const Finding &finding : diagnose(report)) {
    if (topics.empty() || topics.back() != finding.topic)
      topics.push_back(finding.topic);
    EXPECT_NE(finding.sentence.find_first_of("0123456789N"), std::string::npos) << finding.sentence;
  }
  EXPECT_EQ(topics, (std::vector<std::string>{"prefill or decode", "kernel or KV management",
                                              "reuse", "GQA, adapters, tenants", "lever"}));
}

TEST(Diagnosis, SaysWhatTenantsCost) {
  Trace trace = traceOf(
      R"({"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "a"}
{"timestamp": 1000, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "b"}
)");
  Report report = expectValue(makeReport({trace, {}, tenMillisecondSteps(), {}, {}, 0}));
  bool isSaid = false;
  for (const Finding &finding : diagnose(report))
    isSaid |= finding.sentence.find(
                  "2 tenants and 1 adapters do not share pages: that costs 46.9 %") == 0;
  EXPECT_TRUE(isSaid); // 15 of 32 tokens
}

} // namespace
