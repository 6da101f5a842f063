//===- ThreadPool.h - the workers of host launches --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job is a function that any number of workers may run at once and that hands out its work by
// tickets. So nobody waits for a worker to wake up: the caller starts at once, idle threads join
// while there is work, and a job is closed to new workers when the first one comes back, because
// then no ticket is left. Jobs of several callers share the threads: an idle thread joins the job
// that has the fewest.
//
// Idle threads spin for some tens of microseconds (launches of a model's layers follow each other
// closely) and then sleep.
//
// fork: the child has none of the threads. It gets a new pool with its first launch.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_THREADPOOL_H
#define PAGEFOLD_RUNTIME_THREADPOOL_H

#include "pagefold/runtime/Error.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace pagefold::runtime {

class ThreadPool {
public:
  using Work = void (*)(void *context) noexcept;

  /// Starts workers - 1 threads; the caller of run() is the other worker.
  explicit ThreadPool(unsigned workers);
  /// No run() may be under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Runs work(context) on this thread and on as many idle threads as there are. Returns when all
  /// of them have returned; what they wrote is visible then. May be called by several threads.
  void run(Work work, void *context);

  /// The pool of this process, started when first asked for.
  static std::shared_ptr<ThreadPool> shared();
  /// Workers of the shared pool from the next launch on (1 to 1024). Launches under way keep
  /// theirs.
  static Status setSharedWorkers(int workers);

private:
  struct Job;
  void threadMain();
  Job *pick();
  void close(Job &job);
  bool spinForNews(uint64_t seen) const;

  std::mutex mutex_;
  std::condition_variable news_;    ///< a job was listed, or stopping_
  std::condition_variable left_;    ///< the last thread left a job
  std::vector<Job *> jobs_;         ///< open to new workers
  std::atomic<uint64_t> epoch_ = 0; ///< counts listed jobs; what spinning threads watch
  unsigned sleeping_ = 0;
  unsigned waiting_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_THREADPOOL_H
