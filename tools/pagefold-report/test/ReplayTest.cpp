//===- ReplayTest.cpp - totals worked out by hand -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

// Request 0 computes its 16 prompt tokens and one more for its second output. Request 1 finds
// span 1 (8 tokens) and computes 8. Request 2 finds all and computes the last token.
TEST(Replay, TokensReconcile) {
  Trace trace = syntheticTrace();
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  ASSERT_EQ(result.requests.size(), 3u);
  EXPECT_EQ(result.requests[0].hitTokens, 0u);
  EXPECT_EQ(result.requests[1].hitTokens, 8u);
  EXPECT_EQ(result.requests[2].hitTokens, 15u); // A47: at most the prompt less one
  EXPECT_EQ(result.requests[0].prefilledTokens, 16u);
  EXPECT_EQ(result.requests[1].prefilledTokens, 8u);
  EXPECT_EQ(result.requests[2].prefilledTokens, 1u);
  EXPECT_EQ(result.steps.steps, 4u);
  EXPECT_EQ(result.steps.prefillTokens, 25u);
  EXPECT_EQ(result.steps.decodeTokens, 1u);
  EXPECT_EQ(trace.promptTokens(), 48u); // tokens in = 25 prefilled + 23 reused
  EXPECT_EQ(result.sources.reused, 23u);
  EXPECT_EQ(result.sources.cold, 24u);
  EXPECT_EQ(result.sources.lastToken, 1u);
  EXPECT_EQ(result.sources.total(), 48u);
  EXPECT_TRUE(reconcile(trace, result));
}

// Request 0 takes 5 pages, request 1 takes 2 beside the 2 it shares, request 2 takes 1 for a copy
// of 3 tokens, which becomes a page that is there already and is given back.
TEST(Replay, PagesReconcile) {
  ReplayResult result = expectValue(replay(syntheticTrace(), tenMillisecondSteps(), {}));
  EXPECT_EQ(result.lives->allocated, 8u);
  EXPECT_EQ(result.lives->freed, 1u);
  EXPECT_EQ(result.pages.idlePages, 7);
  EXPECT_EQ(result.pages.livePages, 0);
  EXPECT_EQ(result.watermark, 5u);
}

TEST(Replay, TimesAreThoseOfTheSteps) {
  Trace trace = syntheticTrace();
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  for (const RequestRecord &request : result.requests) {
    EXPECT_NEAR(request.queueTime(), 0, 1e-9);
    EXPECT_NEAR(request.ttft(), 0.010, 1e-9);
  }
  EXPECT_NEAR(result.requests[0].tpot(), 0.010, 1e-9);
  ASSERT_EQ(result.tokenGaps.size(), 1u);
  EXPECT_NEAR(result.makespan, 2.010, 1e-9);
  Metrics metrics = measure(trace, result, {});
  EXPECT_NEAR(metrics.idleTime, 1 - 0.040 / 2.010, 1e-9);
  EXPECT_NEAR(metrics.outputThroughput, 4 / 2.010, 1e-6);
  EXPECT_NEAR(metrics.goodput, 3 / 2.010, 1e-6);
  // Slots filled in the four steps: 16 of 16, 17 of 20, 16 of 16, 16 of 16.
  EXPECT_NEAR(metrics.pool.fragmentation, 1 - 65.0 / 68, 1e-9);
  EXPECT_NEAR(metrics.reuse->byTokens, 23.0 / 48, 1e-9);
  EXPECT_NEAR(metrics.reuse->byRequests, 2.0 / 3, 1e-9);
}

TEST(Replay, WholePagesOnlyWithoutPartialHits) {
  ReplayOptions options;
  options.minPartialHit = 0;
  ReplayResult result = expectValue(replay(syntheticTrace(), tenMillisecondSteps(), options));
  EXPECT_EQ(result.requests[2].hitTokens, 12u);
  EXPECT_EQ(result.sources.subPage, 3u); // 12, 13, 14: there, but less than a page
  EXPECT_EQ(result.sources.lastToken, 1u);
}

TEST(Replay, NothingIsReusedWithoutCaching) {
  ReplayOptions options;
  options.prefixCaching = false;
  ReplayResult result = expectValue(replay(syntheticTrace(), tenMillisecondSteps(), options));
  EXPECT_EQ(result.sources.reused, 0u);
  EXPECT_EQ(result.sources.disabled, 23u);
  EXPECT_EQ(result.steps.prefillTokens, 48u);
}

// 8 + 8 tokens each in 6 pages of 4. Both have 3 pages when token 12 needs a fourth: request 1,
// the last admitted, goes. When request 0 has ended it finds 8 of its 12 tokens (its last page
// was evicted for request 0) and computes 4 again.
TEST(Replay, PreemptionRecomputes) {
  Trace trace = traceOf(R"({"timestamp": 0, "input_length": 8, "output_length": 8}
{"timestamp": 0, "input_length": 8, "output_length": 8}
)");
  ReplayOptions options;
  options.poolPages = 6;
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), options));
  EXPECT_EQ(result.scheduler.preemptions, 1);
  EXPECT_EQ(result.requests[0].preemptions, 0u);
  EXPECT_EQ(result.requests[1].preemptions, 1u);
  EXPECT_EQ(result.requests[1].recomputedTokens, 4u);
  EXPECT_EQ(result.requests[1].hitTokens, 0u); // what a re-admission finds is no hit
  Metrics metrics = measure(trace, result, {});
  EXPECT_NEAR(metrics.recomputeTax, 4.0 / (15 + 15 + 4), 1e-9);
  EXPECT_FALSE(metrics.reuse); // no ids: unknown, not 0 %
}

TEST(Replay, DuplicatesInFlightAreTheirOwnReason) {
  Trace trace =
      traceOf(R"({"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}
)");
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  EXPECT_EQ(result.sources.reused, 0u);
  EXPECT_EQ(result.sources.inFlight, 15u);
  EXPECT_EQ(result.sources.lastToken, 1u);
}

// A49
TEST(Replay, TenantsAndAdaptersDoNotShare) {
  Trace trace = traceOf(
      R"({"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "a"}
{"timestamp": 1000, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "b"}
{"timestamp": 2000, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "a", "adapter": "x"}
{"timestamp": 3000, "input_length": 16, "output_length": 1, "hash_ids": [1, 2], "tenant": "a"}
)");
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  EXPECT_EQ(result.requests[1].hitTokens, 0u);
  EXPECT_EQ(result.requests[2].hitTokens, 0u);
  EXPECT_EQ(result.requests[3].hitTokens, 15u);
  EXPECT_EQ(result.sources.cold, 48u);
}

TEST(Replay, EvictedTokensAreCounted) {
  // 16 pages: 40 other tokens and then 24 more push span 1 out.
  Trace trace =
      traceOf(R"({"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 1000, "input_length": 64, "output_length": 1, "hash_ids": [3, 4, 5, 6, 7, 8, 9, 10]}
{"timestamp": 2000, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}
)");
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  EXPECT_EQ(result.requests[2].hitTokens, 0u);
  EXPECT_EQ(result.sources.evicted, 15u);
  EXPECT_GT(result.pages.evictions, 0);
}

TEST(Replay, RequestsThatNeverFitAreRejectedAndSaid) {
  Trace trace = traceOf(R"({"timestamp": 0, "input_length": 8, "output_length": 1}
{"timestamp": 0, "input_length": 80, "output_length": 1}
)");
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  EXPECT_TRUE(result.requests[0].finished);
  EXPECT_TRUE(result.requests[1].rejected);
  EXPECT_NE(result.firstRejection.find("20 pages"), std::string::npos) << result.firstRejection;
}

TEST(Replay, AModelThatDoesNotFitIsRefused) {
  Device device;
  device.name = "small";
  device.memory = 1e6;
  Model model = expectValue(readModel(inputPath("tiny.json")));
  model.poolPages = 0;
  auto result = replay(syntheticTrace(), CostModel(model, device), {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("nothing is left for pages"), std::string::npos);
}

TEST(Replay, APoolBeyondTheTraceIsNotBuilt) {
  ReplayOptions options;
  options.poolPages = uint64_t(1) << 40;
  ReplayResult result = expectValue(replay(syntheticTrace(), tenMillisecondSteps(), options));
  EXPECT_EQ(result.pagesThatFit, uint64_t(1) << 40);
  EXPECT_EQ(result.poolPages, 5u + 5u + 5u); // 18, 17 and 17 tokens
}

TEST(Replay, ReconcileNoticesAMissingToken) {
  Trace trace = syntheticTrace();
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  result.requests[1].prefilledTokens -= 1;
  auto status = reconcile(trace, result);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("tokens in and tokens prefilled + reused: 48 is not 47"),
            std::string::npos)
      << status.error().message();
}

TEST(Replay, SurveySeesWhoKeepsPagesAlive) {
  // Request 1 runs while request 0 is still decoding: they hold the 2 pages of span 1 together.
  Trace trace =
      traceOf(R"({"timestamp": 0, "input_length": 16, "output_length": 30, "hash_ids": [1, 2]}
{"timestamp": 100, "input_length": 16, "output_length": 18, "hash_ids": [1, 3]}
)");
  ReplayResult result = expectValue(replay(trace, tenMillisecondSteps(), {}));
  ASSERT_EQ(result.survey->groups().size(), 1u);
  EXPECT_EQ(result.survey->groups()[0].prefix, "span 1");
  EXPECT_EQ(result.survey->groups()[0].pages, 2u);
  EXPECT_EQ(result.survey->groups()[0].holders, 2u);
}

} // namespace
