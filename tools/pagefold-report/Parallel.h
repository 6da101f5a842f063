//===- Parallel.h - independent jobs on a few threads -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_PARALLEL_H
#define PAGEFOLD_REPORT_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace pagefold::report {

/// Calls job(0) .. job(count - 1), each once, on as many threads as the machine has cores. The
/// jobs share nothing that they change, and do not throw.
template <typename Job> void runParallel(std::size_t count, Job job) {
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++)
      job(i);
  };
  std::size_t threads =
      std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
}

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_PARALLEL_H
