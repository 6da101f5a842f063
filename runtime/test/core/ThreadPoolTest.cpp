//===- ThreadPoolTest.cpp - the workers, also under ThreadSanitizer -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

using namespace pagefold::runtime;

namespace {
/// A job as kernels are: tickets name the items, each is done once. The counts are plain integers
/// so that ThreadSanitizer sees a missing order between the workers and the caller.
struct Tickets {
  explicit Tickets(size_t items) : done(items) {}
  static void work(void *context) noexcept {
    auto &self = *static_cast<Tickets *>(context);
    self.workers.fetch_add(1, std::memory_order_relaxed);
    for (size_t i; (i = self.next.fetch_add(1, std::memory_order_relaxed)) < self.done.size();)
      self.done[i] += 1;
  }
  bool everyItemOnce() const {
    return std::all_of(done.begin(), done.end(), [](int count) { return count == 1; });
  }
  std::atomic<size_t> next = 0;
  std::atomic<unsigned> workers = 0;
  std::vector<int> done;
};
} // namespace

TEST(ThreadPool, EveryTicketIsDoneOnceAndSeenByTheCaller) {
  for (unsigned workers : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    for (int round = 0; round < 300; ++round) {
      Tickets tickets(static_cast<size_t>(round));
      pool.run(Tickets::work, &tickets);
      ASSERT_TRUE(tickets.everyItemOnce()) << workers << " workers, round " << round;
      ASSERT_GE(tickets.workers, 1u);
      ASSERT_LE(tickets.workers, workers);
    }
  }
}

TEST(ThreadPool, SleepingThreadsJoin) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the spin is long over
  // Two workers must be inside at once for this to end.
  std::atomic<int> inside = 0;
  pool.run(
      [](void *context) noexcept {
        auto &inside = *static_cast<std::atomic<int> *>(context);
        inside.fetch_add(1);
        while (inside.load() < 2)
          std::this_thread::yield();
      },
      &inside);
  EXPECT_EQ(inside, 2);
}

TEST(ThreadPool, CallersShareTheThreads) {
  ThreadPool pool(4);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Tickets tickets(static_cast<size_t>(round % 70));
        pool.run(Tickets::work, &tickets);
        wrong += !tickets.everyItemOnce();
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, SharedPoolChangesSizeWhileInUse) {
  std::atomic<int> wrong = 0;
  std::thread caller([&] {
    for (int round = 0; round < 300; ++round) {
      Tickets tickets(50);
      ThreadPool::shared()->run(Tickets::work, &tickets);
      wrong += !tickets.everyItemOnce();
    }
  });
  for (int round = 0; round < 40; ++round)
    EXPECT_TRUE(ThreadPool::setSharedWorkers(1 + round % 4));
  caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(ThreadPool::setSharedWorkers(3));
  EXPECT_EQ(ThreadPool::shared()->workers(), 3u);
}
