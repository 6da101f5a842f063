//===- Replay.h - a trace through the real manager and scheduler -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only time is simulated. The page manager and the scheduler are the runtime's own, and make the
// same decisions as in front of a device; the cost model says how long each of their steps takes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REPLAY_H
#define PAGEFOLD_REPORT_REPLAY_H

#include "CostModel.h"
#include "PageLives.h"
#include "PageSurvey.h"
#include "ReuseLedger.h"
#include "TimeSeries.h"
#include "Trace.h"

#include "pagefold/runtime/Scheduler.h"

#include <functional>
#include <memory>

namespace pagefold::report {

struct ReplayOptions {
  runtime::SchedulerOptions scheduler; ///< `order` must stay first come, first served
  bool prefixCaching = true;
  runtime::EvictionPolicy eviction = runtime::EvictionPolicy::Lru;
  int32_t minPartialHit = 1; ///< tokens from which a hit inside a page is copied; 0: never
  uint64_t poolPages = 0;    ///< 0: the model file's, or what the device's memory holds
  bool survey = true;        ///< walk page tables now and then (a quarter of a replay's time)
  /// Called now and then: requests finished, requests in all.
  std::function<void(size_t, size_t)> progress;
};

/// One request. Times in seconds on the replay's clock.
struct RequestRecord {
  double arrival = 0, admitted = 0, firstToken = 0, lastToken = 0;
  double longestGap = 0; ///< between two of its tokens
  uint32_t promptTokens = 0, outputTokens = 0;
  uint32_t emitted = 0;         ///< tokens that came out
  uint32_t hitTokens = 0;       ///< at first admission
  uint32_t reusedLater = 0;     ///< prompt tokens first found at a re-admission
  uint32_t prefilledTokens = 0; ///< prompt tokens computed, each counted once
  uint32_t recomputedTokens = 0;
  uint32_t preemptions = 0;
  uint32_t tenant = 0, adapter = 0;
  bool wasAdmitted = false, finished = false, rejected = false;

  double ttft() const { return firstToken - arrival; }
  double queueTime() const { return admitted - arrival; }
  double endToEnd() const { return lastToken - arrival; }
  /// Seconds a token after the first; outputs of one token have none.
  double tpot() const { return (lastToken - firstToken) / (outputTokens - 1); }
};

/// Seconds of steps, by what they went to and for whom. The parts add up to `busy`.
struct TimeSpent {
  double busy = 0, overhead = 0;
  double prefillLinear = 0, decodeLinear = 0; ///< a mixed step's product is split by tokens
  double prefillHead = 0, decodeHead = 0;     ///< the output projection, split by rows
  double prefillAttention = 0, decodeAttention = 0;
  // Of the above: bound by arithmetic. The rest, less overhead, is bound by bandwidth.
  double prefillLinearCompute = 0, decodeLinearCompute = 0, prefillAttentionCompute = 0;

  double prefillCompute() const { return prefillLinearCompute + prefillAttentionCompute; }
  double compute() const { return prefillCompute() + decodeLinearCompute; }
  double bandwidth() const { return busy - overhead - compute(); }
  double prefill() const { return prefillLinear + prefillHead + prefillAttention; }
  double decode() const { return decodeLinear + decodeHead + decodeAttention; }
};

/// Seconds during which somebody waited, by what the next in line lacked.
struct WaitingTime {
  double tokenBudget = 0, sequences = 0, pages = 0;
  double total() const { return tokenBudget + sequences + pages; }
};

struct StepCounts {
  uint64_t steps = 0, prefillOnly = 0, decodeOnly = 0, mixed = 0;
  uint64_t prefillTokens = 0; ///< in prefill entries, recomputed ones included
  uint64_t decodeTokens = 0;
  uint64_t recomputedTokens = 0;
  uint64_t attentionLaunches = 0; ///< a layer has one for its decodes and one for its chunks
  uint64_t productLaunches = 0;   ///< QKV, output, gate and up, down a layer; output projection
};

struct ReplayResult {
  uint64_t poolPages = 0;
  uint64_t pagesThatFit = 0; ///< more than poolPages where the trace cannot fill them
  uint32_t pageSize = 0;
  double makespan = 0; ///< from the first arrival to the last token
  std::vector<RequestRecord> requests;
  std::vector<double> tokenGaps; ///< s, of all requests
  PromptSources sources;
  TimeSpent time;
  WaitingTime waiting;
  StepCounts steps;
  TimeSeries series;
  uint64_t watermark = 0; ///< most live pages at once
  double maxRunning = 0, maxWaiting = 0;
  double maxStep = 0; ///< s
  std::unique_ptr<PageLives> lives;
  std::unique_ptr<PageSurvey> survey;
  runtime::KvCounters pages; ///< when all was done
  runtime::SchedulerCounters scheduler;
  std::string firstRejection; ///< why, where any request was
};

/// Fails where the model does not fit the device, on options out of range, and (Internal) where
/// the totals of replay, manager and scheduler disagree.
Result<ReplayResult> replay(const Trace &trace, const CostModel &cost,
                            const ReplayOptions &options);

/// Tokens in = prefilled + reused, pages allocated = freed + held, and the like. Names the first
/// sum that does not hold. replay() checks it itself.
runtime::Status reconcile(const Trace &trace, const ReplayResult &result);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REPLAY_H
