//===- ThreadPool.cpp - the workers of host launches ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/ThreadPool.h"

#include "pagefold/runtime/ForkHandlers.h"

#include <algorithm>
#include <sched.h>
#include <system_error>

using namespace pagefold::runtime;

/// Lives on its caller's stack. A thread that leaves touches it last when it lowers `active`.
struct ThreadPool::Job {
  Work work;
  void *context;
  std::atomic<unsigned> active = 0; ///< threads in work(), the caller not counted
};

namespace {
constexpr int kMaxWorkers = 1024;
// Some tens of microseconds: longer than the gap between two launches of a busy model, shorter than
// anybody would notice in an idle process.
constexpr int kSpins = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}
} // namespace

//===----------------------------------------------------------------------===//
// A pool
//===----------------------------------------------------------------------===//

ThreadPool::ThreadPool(unsigned workers) {
  try {
    threads_.reserve(workers);
    for (unsigned i = 1; i < workers; ++i)
      threads_.emplace_back([this] { threadMain(); });
  } catch (const std::system_error &) {
    // The system has no more threads to give: those there are do the work, as jobs run on any
    // number.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    epoch_.fetch_add(1, std::memory_order_release);
  }
  news_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void ThreadPool::run(Work work, void *context) {
  if (threads_.empty())
    return work(context);
  Job job{work, context};
  bool wake;
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    epoch_.fetch_add(1, std::memory_order_release);
    wake = sleeping_ > 0;
  }
  if (wake)
    news_.notify_all();

  work(context);

  {
    std::lock_guard lock(mutex_);
    close(job);
  }
  // Nobody joins any more; those who did are at their last tickets.
  for (int i = 0; i < kSpins; ++i, relax())
    if (job.active.load(std::memory_order_acquire) == 0)
      return;
  std::unique_lock lock(mutex_);
  ++waiting_;
  left_.wait(lock, [&] { return job.active.load(std::memory_order_acquire) == 0; });
  --waiting_;
}

void ThreadPool::threadMain() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (Job *job = pick()) {
      job->active.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      job->work(job->context);
      lock.lock();
      close(*job);
      bool last = job->active.fetch_sub(1, std::memory_order_release) == 1;
      if (last && waiting_ > 0)
        left_.notify_all();
      continue;
    }
    uint64_t seen = epoch_.load(std::memory_order_relaxed);
    lock.unlock();
    bool news = spinForNews(seen);
    lock.lock();
    if (news)
      continue;
    ++sleeping_;
    news_.wait(lock, [&] { return stopping_ || epoch_.load(std::memory_order_relaxed) != seen; });
    --sleeping_;
  }
}

/// The open job with the fewest threads.
ThreadPool::Job *ThreadPool::pick() {
  auto fewest = std::min_element(jobs_.begin(), jobs_.end(), [](const Job *a, const Job *b) {
    return a->active.load(std::memory_order_relaxed) < b->active.load(std::memory_order_relaxed);
  });
  return fewest == jobs_.end() ? nullptr : *fewest;
}

void ThreadPool::close(Job &job) {
  auto it = std::find(jobs_.begin(), jobs_.end(), &job);
  if (it != jobs_.end())
    jobs_.erase(it);
}

bool ThreadPool::spinForNews(uint64_t seen) const {
  for (int i = 0; i < kSpins; ++i, relax())
    if (epoch_.load(std::memory_order_acquire) != seen)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// The pool of the process
//===----------------------------------------------------------------------===//

namespace {
struct SharedPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool;
  int workers = 0; ///< 0: not set, one for each core that this process may use
  /// Pools of a parent process: their threads are not here, so they can be neither used nor ended.
  std::vector<std::shared_ptr<ThreadPool>> abandoned;

  static SharedPool &get() {
    // Never destroyed: other threads may still launch while the process ends.
    static SharedPool *shared = [] {
      auto *created = new SharedPool;
      onFork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
             [] {
               SharedPool &shared = get();
               if (shared.pool)
                 shared.abandoned.push_back(std::move(shared.pool));
               shared.mutex.unlock();
             });
      return created;
    }();
    return *shared;
  }
};

int usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::clamp(CPU_COUNT(&set), 1, kMaxWorkers);
  return static_cast<int>(
      std::clamp(std::thread::hardware_concurrency(), 1u, unsigned(kMaxWorkers)));
}
} // namespace

std::shared_ptr<ThreadPool> ThreadPool::shared() {
  SharedPool &shared = SharedPool::get();
  std::lock_guard lock(shared.mutex);
  if (!shared.pool)
    shared.pool = std::make_shared<ThreadPool>(
        static_cast<unsigned>(shared.workers > 0 ? shared.workers : usableCores()));
  return shared.pool;
}

Status ThreadPool::setSharedWorkers(int workers) {
  if (workers < 1 || workers > kMaxWorkers)
    return fail(ErrorCode::InvalidArgument, "the number of threads expects 1 to " +
                                                std::to_string(kMaxWorkers) + ", got " +
                                                std::to_string(workers));
  SharedPool &shared = SharedPool::get();
  std::shared_ptr<ThreadPool> old; // its threads are joined after the lock is released
  std::lock_guard lock(shared.mutex);
  shared.workers = workers;
  if (shared.pool && shared.pool->workers() != static_cast<unsigned>(workers))
    old = std::move(shared.pool);
  return {};
}
