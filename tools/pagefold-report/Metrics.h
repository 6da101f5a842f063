//===- Metrics.h - what a replay amounts to ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Definitions as serving engines and their benchmarks use them; docs/report.md has each with the
// places where others differ. Times are in seconds here and in milliseconds in reports.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_METRICS_H
#define PAGEFOLD_REPORT_METRICS_H

#include "Replay.h"
#include "Statistics.h"

#include <optional>

namespace pagefold::report {

/// What a user still calls served, in seconds.
struct ServiceLevels {
  double ttft = 0.450;
  double tpot = 0.040;
};

/// Shares of first-admission prompts that were reused. Only of traces that tell.
struct ReuseMetrics {
  double byTokens = 0, byPages = 0, byRequests = 0; ///< byRequests: those with any hit
  double meanPerRequest = 0;
  double ceiling = 0; ///< by tokens, of an infinite cache filled at arrival
  Summary hitLength;  ///< tokens, of all requests
};

/// Time-weighted shares of the pool while the device worked.
struct PoolMetrics {
  double live = 0, idle = 0, free = 0; ///< add up to 1
  double watermark = 0;                ///< most live pages at once
  double fragmentation = 0;            ///< 1 - live tokens / (live pages x page size)
};

/// Whether work comes in faster than it goes out. Growth is the least-squares slope over the
/// arrivals, times their duration, over the mean: 0 in a steady state.
struct Saturation {
  bool saturated = false;
  double ttftGrowth = 0, concurrencyGrowth = 0;
  double ttftSlope = 0; ///< s of TTFT a second of trace
};

enum class Bottleneck { Compute, Bandwidth, Overhead, KvCapacity };
const char *nameOf(Bottleneck bottleneck);

struct Metrics {
  size_t completed = 0, rejected = 0;
  Summary ttft, tpot, itl, endToEnd, queue, prefill, decode; ///< s
  double longestStall = 0;                                   ///< s between two tokens of a request
  double requestThroughput = 0, goodput = 0;                 ///< requests/s
  double goodShare = 0;                                      ///< of the completed
  double outputThroughput = 0, totalThroughput = 0;          ///< tokens/s
  double prefillThroughput = 0;                              ///< computed prompt tokens/s
  double recomputeTax = 0;                                   ///< recomputed / all computed tokens
  double idleTime = 0; ///< share of the makespan without a step
  std::optional<ReuseMetrics> reuse;
  PoolMetrics pool;
  Saturation saturation;
  Bottleneck bottleneck = Bottleneck::Compute;
};

Metrics measure(const Trace &trace, const ReplayResult &result, const ServiceLevels &levels);

/// The part of the last pages that holds nothing, were every request to end with its own pages:
/// 1 - tokens / (pages x page size).
double finalTailWaste(const Trace &trace, uint32_t pageSize);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_METRICS_H
