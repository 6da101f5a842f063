//===- SchedulingTest.cpp - continuous batching, step by step -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "pagefold/runtime/Scheduler.h"

#include <algorithm>
#include <map>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {

/// A manager, a scheduler, and a loop that samples token 7 for everyone.
class Engine {
public:
  Engine(const KvCacheOptions &cache, const SchedulerOptions &options)
      : manager(makeManager(cache)) {
    auto made = Scheduler::create(*manager, options);
    EXPECT_OK(made);
    scheduler = std::move(*made);
  }

  Status add(RequestId id, std::span<const TokenId> prompt, int32_t newTokens,
             int32_t priority = 0) {
    ServingRequest request{.id = id, .key = makeKey(*manager, prompt)};
    request.maxNewTokens = newTokens;
    request.priority = priority;
    return scheduler->add(std::move(request));
  }

  StepPlan plan() {
    auto plan = scheduler->schedule();
    EXPECT_OK(plan);
    EXPECT_OK(manager->verifyInvariants());
    return std::move(*plan);
  }

  StepOutcome complete(const StepPlan &plan) {
    StepResult result{.step = plan.step, .tokens = {}};
    for (const StepEntry &entry : plan.entries)
      if (entry.samples)
        result.tokens.push_back({entry.request, 7});
    auto outcome = scheduler->complete(result);
    EXPECT_OK(outcome);
    EXPECT_OK(manager->verifyInvariants());
    return std::move(*outcome);
  }

  StepPlan step() {
    StepPlan p = plan();
    complete(p);
    return p;
  }

  std::unique_ptr<KvCacheManager> manager;
  std::unique_ptr<Scheduler> scheduler;
};

std::string describe(const StepPlan &plan) {
  std::string text;
  for (const StepEntry &e : plan.entries)
    text += (text.empty() ? "" : " ") + std::to_string(e.request) +
            (e.kind == StepEntry::Kind::Decode ? "d" : "p") + std::to_string(e.context) + "+" +
            std::to_string(e.tokens);
  return text;
}

SchedulerOptions budget(int32_t tokens) {
  SchedulerOptions options;
  options.tokenBudget = tokens;
  return options;
}

} // namespace

TEST(Scheduler, ChunksPrefillUnderTheBudgetAndDecodesFirst) {
  Engine engine({.numPages = 64, .pageSize = 4}, budget(10));
  ASSERT_OK(engine.add(1, tokenRun(6), 3));
  ASSERT_OK(engine.add(2, tokenRun(15, 100), 2));
  EXPECT_EQ(describe(engine.step()), "1p0+6 2p0+4");
  EXPECT_EQ(describe(engine.step()), "1d6+1 2p4+9");
  StepPlan third = engine.step();
  EXPECT_EQ(describe(third), "1d7+1 2p13+2");
  EXPECT_TRUE(third.entries[1].samples);
  EXPECT_EQ(describe(engine.step()), "2d15+1");
  EXPECT_TRUE(engine.scheduler->idle());
  EXPECT_EQ(engine.manager->counters().livePages, 0);
  EXPECT_EQ(engine.scheduler->counters().finished, 2);
  EXPECT_EQ(engine.scheduler->counters().scheduledTokens, 10 + 10 + 3 + 1);
}

TEST(Scheduler, ChunkLimitLeavesRoomForOthers) {
  SchedulerOptions options = budget(10);
  options.maxPrefillChunk = 4;
  Engine engine({.numPages = 64, .pageSize = 4}, options);
  ASSERT_OK(engine.add(1, tokenRun(12), 2));
  ASSERT_OK(engine.add(2, tokenRun(3, 50), 5));
  EXPECT_EQ(describe(engine.step()), "1p0+4 2p0+3");
  EXPECT_EQ(describe(engine.step()), "2d3+1 1p4+4") << "the decode precedes the older prefill";
}

TEST(Scheduler, WithoutChunksAPromptWaitsForAWholeStep) {
  SchedulerOptions options = budget(10);
  options.chunkedPrefill = false;
  Engine engine({.numPages = 64, .pageSize = 4}, options);
  ASSERT_OK(engine.add(1, tokenRun(6), 2));
  ASSERT_OK(engine.add(2, tokenRun(8, 50), 2));
  EXPECT_EQ(describe(engine.step()), "1p0+6");
  EXPECT_EQ(describe(engine.step()), "1d6+1 2p0+8");
  EXPECT_FALSE(engine.add(3, tokenRun(10), 2)) << "could never run";
}

TEST(Scheduler, StopsAtTheHeadOfTheLine) {
  Engine engine({.numPages = 6, .pageSize = 4}, budget(100));
  ASSERT_OK(engine.add(1, tokenRun(12), 4));
  ASSERT_OK(engine.add(2, tokenRun(16, 50), 1)); // four pages, three are left
  ASSERT_OK(engine.add(3, tokenRun(4, 90), 1));  // would fit, and must not overtake
  EXPECT_EQ(describe(engine.step()), "1p0+12");
}

// Pages for both prompts but not for their answers: the last admitted goes, and comes back first.
TEST(Scheduler, PreemptsTheLastAdmittedAndRecomputes) {
  KvCacheOptions cache{.numPages = 4, .pageSize = 4, .prefixCaching = false};
  Engine engine(cache, budget(100));
  ASSERT_OK(engine.add(1, tokenRun(8), 6));
  ASSERT_OK(engine.add(2, tokenRun(8, 50), 6));
  ASSERT_OK(engine.add(3, tokenRun(4, 90), 1));
  EXPECT_EQ(describe(engine.step()), "1p0+8 2p0+8");
  StepPlan preempting = engine.step();
  EXPECT_EQ(preempting.preempted, std::vector<RequestId>{2});
  EXPECT_EQ(describe(preempting), "1d8+1") << "and no admission, though request 3 would fit";
  EXPECT_EQ(engine.scheduler->waiting()[0].id, 2u) << "at the head of the line";
  std::vector<StepEntry> resumed;
  while (!engine.scheduler->idle()) {
    StepPlan plan = engine.step();
    std::copy_if(plan.entries.begin(), plan.entries.end(), std::back_inserter(resumed),
                 [](const StepEntry &entry) { return entry.resumed; });
  }
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_EQ(resumed[0].tokens, 9) << "the prompt and the token it had sampled";
  EXPECT_EQ(resumed[0].recomputed, 8);
  EXPECT_EQ(engine.scheduler->counters().recomputedTokens, 8);
  EXPECT_EQ(engine.scheduler->counters().preemptions, 1);
  EXPECT_EQ(engine.scheduler->counters().finished, 3);
  EXPECT_EQ(engine.manager->counters().freePages, 4);
}

TEST(Scheduler, PrefixCacheSavesARecomputation) {
  Engine engine({.numPages = 4, .pageSize = 4}, budget(100));
  ASSERT_OK(engine.add(1, tokenRun(8), 2));
  ASSERT_OK(engine.add(2, tokenRun(8, 50), 6));
  engine.step();
  EXPECT_EQ(engine.step().preempted, std::vector<RequestId>{2}); // one of its pages is evicted
  StepPlan resumed = engine.step();
  ASSERT_EQ(resumed.entries.size(), 1u);
  EXPECT_EQ(resumed.entries[0].context, 4) << "the page that was not evicted is hit";
  EXPECT_EQ(engine.manager->counters().lookups, 2) << "and does not count as a first hit";
}

TEST(Scheduler, WatermarkAndWholePromptHoldAdmissionsBack) {
  KvCacheOptions cache{.numPages = 10, .pageSize = 4};
  SchedulerOptions options = budget(8);
  options.watermark = 0.25; // two pages
  Engine marked(cache, options);
  ASSERT_OK(marked.add(1, tokenRun(8), 1));
  ASSERT_OK(marked.add(2, tokenRun(8, 50), 20));
  ASSERT_FALSE(marked.add(3, tokenRun(33), 1)) << "never with the watermark";
  options.watermark = 0;
  options.wholePromptMustFit = true;
  Engine whole(cache, options);
  ASSERT_OK(whole.add(1, tokenRun(24), 4));
  ASSERT_OK(whole.add(2, tokenRun(24, 50), 4));
  whole.step();
  whole.step();
  StepPlan third = whole.step(); // 1 computes its last chunk and leaves no budget
  StepPlan fourth = whole.step();
  EXPECT_EQ(describe(fourth), "1d24+1") << "six pages of ten are not there for the other";
  options.wholePromptMustFit = false;
  Engine greedy(cache, options);
  ASSERT_OK(greedy.add(1, tokenRun(24), 4));
  ASSERT_OK(greedy.add(2, tokenRun(24, 50), 4));
  greedy.step();
  greedy.step();
  greedy.step();
  EXPECT_EQ(describe(greedy.step()), "1d24+1 2p0+7");
}

TEST(Scheduler, PoliciesAreFunctions) {
  SchedulerOptions options = budget(100);
  options.maxRunning = 1;
  options.order = highestPriorityFirst;
  Engine engine({.numPages = 64, .pageSize = 4}, options);
  ASSERT_OK(engine.add(1, tokenRun(4), 1, 0));
  ASSERT_OK(engine.add(2, tokenRun(4, 50), 1, 9));
  ASSERT_OK(engine.add(3, tokenRun(4, 90), 1, 9));
  EXPECT_EQ(describe(engine.step()), "2p0+4");
  EXPECT_EQ(describe(engine.step()), "3p0+4");
  EXPECT_EQ(describe(engine.step()), "1p0+4");
  std::vector<RequestState> running(3);
  running[0].admitted = 2, running[0].priority = 1;
  running[1].admitted = 3, running[1].priority = 5;
  running[2].admitted = 1, running[2].priority = 1;
  EXPECT_EQ(lastAdmitted(running), 1u);
  EXPECT_EQ(lowestPriority(running), 0u);
}

// The victim may have been served in the same step: its entry and its budget go back.
TEST(Scheduler, AVictimServedInThisStepLosesItsEntry) {
  SchedulerOptions options = budget(100);
  options.maxPrefillChunk = 8;
  Engine engine({.numPages = 6, .pageSize = 4, .prefixCaching = false}, options);
  ASSERT_OK(engine.add(1, tokenRun(24), 1));
  ASSERT_OK(engine.add(2, tokenRun(8, 50), 4));
  EXPECT_EQ(describe(engine.step()), "1p0+8 2p0+8");
  StepPlan plan = engine.step(); // 2 decodes (one page), then 1 wants two pages: one is left
  EXPECT_EQ(plan.preempted, std::vector<RequestId>{2});
  EXPECT_EQ(describe(plan), "1p8+8");
  EXPECT_EQ(plan.totalTokens, 8);
}

TEST(Scheduler, ShapesAreRoundedToTheBuckets) {
  SchedulerOptions options = budget(100);
  options.batchBuckets = {1, 2, 4, 8};
  options.tokenBuckets = {1, 2, 4, 8, 16};
  Engine engine({.numPages = 64, .pageSize = 4}, options);
  for (RequestId id : {1, 2, 3})
    ASSERT_OK(engine.add(id, tokenRun(9, 100 * id), 2));
  StepPlan prefill = engine.step();
  EXPECT_EQ(prefill.paddedRequests, 4);
  EXPECT_EQ(prefill.paddedTokens, 27) << "beyond the last bucket: as it is";
  EXPECT_EQ(engine.step().paddedTokens, 4);
  options.batchBuckets = {2, 2};
  EXPECT_FALSE(Scheduler::create(*engine.manager, options));
}

TEST(Scheduler, AbortAtAnyMoment) {
  Engine engine({.numPages = 16, .pageSize = 4}, budget(8));
  ASSERT_OK(engine.add(1, tokenRun(12), 4));
  ASSERT_OK(engine.add(2, tokenRun(4, 50), 4));
  ASSERT_OK(engine.scheduler->abort(2)); // waiting
  StepPlan out = engine.plan();
  ASSERT_OK(engine.scheduler->abort(1)); // its step is out
  EXPECT_TRUE(engine.complete(out).finished.empty());
  EXPECT_TRUE(engine.scheduler->idle());
  EXPECT_EQ(engine.manager->counters().freePages, 16);
  EXPECT_FALSE(engine.scheduler->abort(1));
}

TEST(Scheduler, ResultsMustMatchTheStep) {
  Engine engine({.numPages = 16, .pageSize = 4}, budget(8));
  EXPECT_FALSE(engine.scheduler->complete({.step = 1, .tokens = {}}));
  ASSERT_OK(engine.add(1, tokenRun(6), 2));
  EXPECT_FALSE(engine.add(1, tokenRun(6), 2));
  StepPlan plan = engine.plan();
  EXPECT_FALSE(engine.scheduler->schedule());
  EXPECT_FALSE(engine.scheduler->complete({.step = plan.step, .tokens = {}}));
  EXPECT_FALSE(engine.scheduler->complete({.step = plan.step, .tokens = {{1, 7}, {1, 7}}}));
  EXPECT_FALSE(engine.scheduler->complete({.step = plan.step + 1, .tokens = {{1, 7}}}));
  auto outcome = engine.scheduler->complete({.step = plan.step, .tokens = {{1, 7, /*last=*/true}}});
  ASSERT_OK(outcome);
  EXPECT_EQ(outcome->finished, std::vector<RequestId>{1});
}

// Many requests through a small pool: all finish, whatever was preempted, and two runs are equal.
TEST(Scheduler, OverloadFinishesEveryoneAndIsDeterministic) {
  auto run = [](EvictionPolicy eviction, bool caching) {
    SchedulerOptions options = budget(48);
    options.maxRunning = 8;
    Engine engine({.numPages = 24, .pageSize = 4, .prefixCaching = caching, .eviction = eviction},
                  options);
    for (RequestId id = 0; id < 120; ++id)
      EXPECT_OK(engine.add(id,
                           concat(tokenRun(8 * (id % 3)), tokenRun(1 + id * 7 % 30, 100 + id % 10)),
                           1 + id * 5 % 20));
    std::string log;
    for (int steps = 0; !engine.scheduler->idle() && steps < 20'000; ++steps) {
      StepPlan plan = engine.step();
      EXPECT_FALSE(plan.blocked);
      EXPECT_LE(plan.totalTokens, 48);
      log += describe(plan) + "\n";
    }
    EXPECT_EQ(engine.scheduler->counters().finished, 120);
    EXPECT_GT(engine.scheduler->counters().preemptions, 0);
    EXPECT_EQ(engine.manager->counters().livePages, 0);
    return log;
  };
  for (EvictionPolicy eviction : {EvictionPolicy::Lru, EvictionPolicy::Lfu})
    for (bool caching : {true, false})
      EXPECT_EQ(run(eviction, caching), run(eviction, caching));
}
