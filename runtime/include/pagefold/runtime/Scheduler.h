//===- Scheduler.h - continuous batching ------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides, step by step, which requests run and how many tokens each computes. It does no timing
// and touches no device: the same arrivals and results give the same plans.
//
//   scheduler.add({.id = 1, .key = key, .maxNewTokens = 128});
//   while (!scheduler.idle()) {
//     auto plan = scheduler.schedule();      // pages are allocated, copies and table updates
//     listed
//     ... run or simulate plan->entries ...
//     scheduler.complete({.tokens = sampled}); // one token for each entry that samples
//   }
//
// One step (the behaviour of vLLM V1): first the running requests, decodes before prefill chunks;
// then the waiting ones in order of arrival, under one budget of tokens. Admission stops at the
// first request whose pages are not there, and there is none in a step that preempted. A running
// request without pages for its next tokens preempts the last admitted (itself, if it is that one);
// the preempted one goes to the head of the line and recomputes.
//
// Threads: add(), abort() and the questions may be called from any thread; schedule() and
// complete() belong to one.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_SCHEDULER_H
#define PAGEFOLD_RUNTIME_SCHEDULER_H

#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/KvCacheManager.h"
#include "pagefold/runtime/ShapeBuckets.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pagefold::runtime {

struct ServingRequest {
  RequestId id = 0;
  PrefixKey key;            ///< the prompt
  int32_t maxNewTokens = 1; ///< ends after so many samples, 1 or more
  int32_t priority = 0;     ///< for policies that read it; higher is more urgent
  Retention retention = {};
  bool lookUp = true;
  bool store = true;
};

/// What a policy may look at.
struct RequestState {
  RequestId id = 0;
  int32_t priority = 0;
  uint64_t arrival = 0;  ///< order of add()
  uint64_t admitted = 0; ///< order of the last admission; 0 while it never ran
  int32_t promptTokens = 0;
  int32_t computedTokens = 0;
  int32_t generatedTokens = 0;
  int32_t preemptions = 0;
};

/// true: `a` goes before `b`. Must be a strict weak order.
using WaitingOrder = bool (*)(const RequestState &a, const RequestState &b);
/// Which running request to preempt; an index into `running` (never empty).
using VictimChoice = size_t (*)(std::span<const RequestState> running);

bool firstComeFirstServed(const RequestState &a, const RequestState &b);
bool highestPriorityFirst(const RequestState &a, const RequestState &b);
size_t lastAdmitted(std::span<const RequestState> running);
size_t lowestPriority(std::span<const RequestState> running);

struct SchedulerOptions {
  int32_t tokenBudget = 8192;        ///< tokens a step
  int32_t maxRunning = 1024;         ///< sequences at once
  bool chunkedPrefill = true;        ///< false: a prompt runs in one step or waits
  int32_t maxPrefillChunk = 0;       ///< tokens of one prompt a step; 0: only the budget
  bool wholePromptMustFit = false;   ///< admit only when all pages of the prompt are available
  double watermark = 0;              ///< fraction of the pool that admissions leave available
  std::vector<int32_t> batchBuckets; ///< sizes of captured graphs, in requests
  std::vector<int32_t> tokenBuckets; ///< and in tokens
  WaitingOrder order = firstComeFirstServed; ///< preempted requests precede whatever it says
  VictimChoice victim = lastAdmitted;
};

struct StepEntry {
  enum class Kind : uint8_t { Decode, Prefill };
  RequestId request = 0;
  int32_t row = 0; ///< page table row
  Kind kind = Kind::Decode;
  int32_t context = 0;    ///< tokens in the cache before this step (kv_len - q_len)
  int32_t tokens = 0;     ///< tokens computed in this step (q_len)
  int32_t recomputed = 0; ///< of these, computed before a preemption already
  bool samples = false;   ///< gives a new token
  bool admitted = false;  ///< entered in this step; `match` is its look-up
  bool resumed = false;   ///< ... after a preemption
  PrefixMatch match = {};
};

struct StepPlan {
  uint64_t step = 0;
  std::vector<StepEntry> entries; ///< decodes, then prefill chunks, then the admitted
  std::vector<RequestId> preempted;
  StepChanges changes; ///< to do on the device first
  int32_t totalTokens = 0;
  int32_t decodeTokens = 0;
  int32_t paddedTokens = 0; ///< totalTokens and entries, rounded to the buckets
  int32_t paddedRequests = 0;
  /// No entries and nothing preempted, though requests wait: the head of the line lacks pages that
  /// somebody other than this scheduler holds.
  bool blocked = false;
};

struct SampledToken {
  RequestId request = 0;
  TokenId token = 0;
  bool last = false; ///< an end-of-sequence token: finish whatever maxNewTokens says
};

struct StepResult {
  uint64_t step = 0;                ///< StepPlan::step
  std::vector<SampledToken> tokens; ///< one for each entry with `samples`, in any order
};

struct StepOutcome {
  std::vector<RequestId> finished;
};

struct SchedulerCounters {
  int64_t waiting = 0; ///< num_requests_waiting
  int64_t running = 0; ///< num_requests_running
  int64_t steps = 0;
  int64_t scheduledTokens = 0; ///< iteration_tokens_total
  int64_t recomputedTokens = 0;
  int64_t preemptions = 0; ///< num_preemptions
  int64_t finished = 0;
  int64_t aborted = 0;
};

class Scheduler {
public:
  /// `manager` is not owned and must outlive the scheduler, which should be its only user for the
  /// requests it was given.
  static Result<std::unique_ptr<Scheduler>> create(KvCacheManager &manager,
                                                   const SchedulerOptions &options = {});
  ~Scheduler();

  /// Puts a request in line. Fails on an id in use and on a request that could never run: prompt
  /// and new tokens beyond the pool or the table row, or (without chunks) beyond the budget.
  Status add(ServingRequest request);
  /// Ends a request, waiting or running, also while a step is out: its result is then ignored.
  Status abort(RequestId request);

  /// The next step. Fails if the last one was not completed.
  Result<StepPlan> schedule();
  /// Applies the results of the step that is out. Fails, changing nothing, on another step's number
  /// and on tokens missing or not asked for.
  Result<StepOutcome> complete(const StepResult &result);

  bool idle() const; ///< no request waits or runs
  std::vector<RequestState> running() const;
  std::vector<RequestState> waiting() const; ///< in order
  SchedulerCounters counters() const;

private:
  class Impl;
  explicit Scheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_SCHEDULER_H
