//===- ThreadsTest.cpp - many threads on one manager and one scheduler ----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Meant for ThreadSanitizer (preset tsan); in other builds it checks the accounting alone.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "pagefold/runtime/Scheduler.h"

#include <atomic>
#include <random>
#include <thread>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

TEST(Threads, A51_EachThreadServesItsOwnRequestsOnASharedPool) {
  constexpr int kThreads = 4, kRequests = 1500;
  auto manager = makeManager({.numPages = 48, .pageSize = 4, .maxRequests = kThreads});
  std::atomic<bool> done{false};
  std::atomic<int> served{0};
  auto serveMany = [&](int thread) {
    std::mt19937 random(thread);
    for (int i = 0; i < kRequests; ++i) {
      RequestId id = static_cast<RequestId>(thread) * kRequests + i;
      std::vector<TokenId> prompt =
          concat(tokenRun(4 * (random() % 4)), tokenRun(1 + random() % 20, random() % 9));
      if (!manager->admit(id, makeKey(*manager, prompt), {.newTokens = 8}))
        continue;
      manager->drainChanges();
      int32_t size = static_cast<int32_t>(prompt.size());
      bool fits = manager->reserve(id, size).has_value();
      manager->drainChanges();
      if (fits)
        EXPECT_OK(manager->markComputed(id, size));
      EXPECT_OK(random() % 2 ? manager->finish(id) : manager->abort(id));
      ++served;
    }
  };
  auto watch = [&] {
    while (!done) {
      KvCounters c = manager->counters();
      EXPECT_EQ(c.freePages + c.idlePages + c.livePages, c.totalPages);
      manager->peek(makeKey(*manager, tokenRun(16)));
      manager->evict(1);
      ASSERT_OK(manager->verifyInvariants());
    }
  };
  std::thread watcher(watch);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back(serveMany, t);
  for (std::thread &thread : threads)
    thread.join();
  done = true;
  watcher.join();
  EXPECT_GT(served, 0);
  manager->evict(48);
  EXPECT_EQ(manager->counters().freePages, 48);
}

TEST(Threads, RequestsArriveAndAreAbortedWhileStepsRun) {
  constexpr int kRequests = 400;
  auto manager = makeManager({.numPages = 64, .pageSize = 4});
  SchedulerOptions options;
  options.tokenBudget = 64;
  auto scheduler = std::move(*Scheduler::create(*manager, options));
  std::atomic<bool> arrived{false};
  std::thread client([&] {
    for (RequestId id = 0; id < kRequests; ++id) {
      ServingRequest request{.id = id, .key = makeKey(*manager, tokenRun(1 + id % 30, id % 7))};
      request.maxNewTokens = 1 + id % 5;
      EXPECT_OK(scheduler->add(std::move(request)));
      if (id % 4 == 3)
        (void)scheduler->abort(id - 2); // may have finished already
    }
    arrived = true;
  });
  while (!arrived || !scheduler->idle()) {
    auto plan = scheduler->schedule();
    ASSERT_OK(plan);
    StepResult result{.step = plan->step, .tokens = {}};
    for (const StepEntry &entry : plan->entries)
      if (entry.samples)
        result.tokens.push_back({entry.request, 7});
    ASSERT_OK(scheduler->complete(result));
  }
  client.join();
  SchedulerCounters c = scheduler->counters();
  EXPECT_EQ(c.finished + c.aborted, kRequests);
  EXPECT_EQ(manager->counters().livePages, 0);
  EXPECT_OK(manager->verifyInvariants());
}
