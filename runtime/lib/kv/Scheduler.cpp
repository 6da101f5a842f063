//===- Scheduler.cpp - continuous batching --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Scheduler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

using namespace pagefold::runtime;
using std::to_string;

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

bool pagefold::runtime::firstComeFirstServed(const RequestState &a, const RequestState &b) {
  return a.arrival < b.arrival;
}

bool pagefold::runtime::highestPriorityFirst(const RequestState &a, const RequestState &b) {
  return a.priority != b.priority ? a.priority > b.priority : a.arrival < b.arrival;
}

size_t pagefold::runtime::lastAdmitted(std::span<const RequestState> running) {
  auto later = [](const RequestState &a, const RequestState &b) { return a.admitted < b.admitted; };
  return std::max_element(running.begin(), running.end(), later) - running.begin();
}

size_t pagefold::runtime::lowestPriority(std::span<const RequestState> running) {
  auto moreImportant = [](const RequestState &a, const RequestState &b) {
    return a.priority != b.priority ? a.priority > b.priority : a.admitted < b.admitted;
  };
  return std::max_element(running.begin(), running.end(), moreImportant) - running.begin();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

namespace {
/// One request from add() to its end. While it waits it owns its key; while it runs the manager
/// does.
struct Sequence {
  RequestState state;
  std::optional<PrefixKey> key;
  int32_t knownTokens = 0; ///< prompt and generated
  int32_t maxNewTokens = 0;
  int32_t everComputed = 0; ///< the most it had computed before a preemption
  int32_t row = 0;
  Retention retention;
  bool lookUp = true;
  bool store = true;

  bool decodes() const {
    return knownTokens - state.computedTokens == 1 && state.generatedTokens > 0;
  }
};
} // namespace

class Scheduler::Impl {
public:
  Impl(KvCacheManager &manager, const SchedulerOptions &options, ShapeBuckets batch,
       ShapeBuckets tokens);

  Status add(ServingRequest request);
  Status abort(RequestId id);
  Result<StepPlan> schedule();
  Result<StepOutcome> complete(const StepResult &result);
  std::vector<RequestState> states(const std::deque<RequestId> &ids) const;
  SchedulerCounters snapshot() const;

  mutable std::mutex mutex;
  std::deque<RequestId> waiting; ///< the first `resuming_` were preempted
  std::deque<RequestId> running; ///< in order of admission

private:
  enum class Served { Yes, No, Preempted };

  void scheduleRunning(StepPlan &plan);
  Status serve(RequestId id, StepPlan &plan);
  void scheduleWaiting(StepPlan &plan);
  bool admitHead(StepPlan &plan);
  void preempt(RequestId victim, StepPlan &plan);
  void addEntry(Sequence &sequence, int32_t tokens, StepPlan &plan);
  void finishPlan(StepPlan &plan);
  int32_t chunkLimit(const StepPlan &plan) const;
  Status checkResult(const StepResult &result) const;
  Status applyEntry(const StepEntry &entry, const SampledToken *token, StepOutcome &outcome);
  void forget(RequestId id);
  int64_t pagesFor(int64_t tokens) const;

  KvCacheManager &manager_;
  SchedulerOptions options_;
  ShapeBuckets batchBuckets_, tokenBuckets_;
  int32_t watermarkPages_;
  std::unordered_map<RequestId, Sequence> sequences_;
  size_t resuming_ = 0;
  uint64_t arrivals_ = 0, admissions_ = 0, step_ = 0;
  std::optional<std::vector<StepEntry>> out_; ///< the step that is out
  SchedulerCounters counters_;
};

Scheduler::Impl::Impl(KvCacheManager &manager, const SchedulerOptions &options, ShapeBuckets batch,
                      ShapeBuckets tokens)
    : manager_(manager), options_(options), batchBuckets_(std::move(batch)),
      tokenBuckets_(std::move(tokens)),
      watermarkPages_(
          static_cast<int32_t>(std::floor(options.watermark * manager.options().numPages))) {}

int64_t Scheduler::Impl::pagesFor(int64_t tokens) const {
  int64_t pageSize = manager_.options().pageSize;
  return (tokens + pageSize - 1) / pageSize;
}

//===----------------------------------------------------------------------===//
// Arrivals and aborts
//===----------------------------------------------------------------------===//

Status Scheduler::Impl::add(ServingRequest request) {
  const KvCacheOptions &cache = manager_.options();
  if (sequences_.contains(request.id))
    return fail(ErrorCode::InvalidArgument,
                "add expects a request id that is not in use, got " + to_string(request.id));
  if (request.key.size() < 1 || request.maxNewTokens < 1)
    return fail(ErrorCode::InvalidArgument,
                "add expects a prompt and maxNewTokens of 1 or more, got " +
                    to_string(request.key.size()) + " and " + to_string(request.maxNewTokens));
  if (request.key.pageSize() != cache.pageSize || request.key.hashKind() != cache.hash)
    return fail(ErrorCode::InvalidArgument,
                "add expects a key made with the manager's page size (" +
                    to_string(cache.pageSize) + ") and hash kind, got a page size of " +
                    to_string(request.key.pageSize()));
  // The last sample is never computed itself.
  int64_t tokens = int64_t(request.key.size()) + request.maxNewTokens - 1;
  int64_t pages = pagesFor(tokens);
  int64_t limit = std::min<int64_t>(cache.numPages - watermarkPages_, cache.maxPagesPerRequest);
  if (pages > limit)
    return fail(ErrorCode::InvalidArgument,
                "add expects a request that could run alone: it needs " + to_string(pages) +
                    " pages for " + to_string(tokens) + " tokens, a request can have " +
                    to_string(limit));
  if (!options_.chunkedPrefill && tokens > options_.tokenBudget)
    return fail(ErrorCode::InvalidArgument,
                "add expects at most tokenBudget (" + to_string(options_.tokenBudget) +
                    ") tokens without chunked prefill, got " + to_string(tokens));
  Sequence sequence{.state = {.id = request.id,
                              .priority = request.priority,
                              .arrival = ++arrivals_,
                              .promptTokens = request.key.size()},
                    .key = std::move(request.key),
                    .maxNewTokens = request.maxNewTokens,
                    .retention = request.retention,
                    .lookUp = request.lookUp,
                    .store = request.store};
  sequence.knownTokens = sequence.state.promptTokens;
  // Preempted requests stay in front of whatever the order says.
  auto before = [&](const RequestState &state, RequestId other) {
    return options_.order(state, sequences_.at(other).state);
  };
  auto place = std::upper_bound(waiting.begin() + resuming_, waiting.end(), sequence.state, before);
  waiting.insert(place, request.id);
  sequences_.emplace(request.id, std::move(sequence));
  return {};
}

void Scheduler::Impl::forget(RequestId id) {
  if (auto place = std::find(waiting.begin(), waiting.end(), id); place != waiting.end()) {
    if (static_cast<size_t>(place - waiting.begin()) < resuming_)
      --resuming_;
    waiting.erase(place);
  }
  std::erase(running, id);
  sequences_.erase(id);
}

Status Scheduler::Impl::abort(RequestId id) {
  auto found = sequences_.find(id);
  if (found == sequences_.end())
    return fail(ErrorCode::InvalidArgument,
                "abort expects a request that waits or runs, got " + to_string(id));
  if (!found->second.key) // it runs
    if (Status ok = manager_.abort(id); !ok)
      return ok;
  forget(id);
  ++counters_.aborted;
  return {};
}

//===----------------------------------------------------------------------===//
// Planning a step
//===----------------------------------------------------------------------===//

Result<StepPlan> Scheduler::Impl::schedule() {
  if (out_)
    return fail(ErrorCode::InvalidArgument,
                "schedule expects step " + to_string(step_) + " to be completed first");
  StepPlan plan;
  plan.step = ++step_;
  scheduleRunning(plan);
  if (plan.preempted.empty())
    scheduleWaiting(plan);
  finishPlan(plan);
  out_ = plan.entries;
  return plan;
}

int32_t Scheduler::Impl::chunkLimit(const StepPlan &plan) const {
  int32_t left = options_.tokenBudget - plan.totalTokens;
  return options_.maxPrefillChunk > 0 ? std::min(left, options_.maxPrefillChunk) : left;
}

/// Decodes first: they are many and small, and every one of them is somebody waiting for a token.
void Scheduler::Impl::scheduleRunning(StepPlan &plan) {
  auto decodes = [&](RequestId id) { return sequences_.at(id).decodes(); };
  std::vector<RequestId> order;
  std::copy_if(running.begin(), running.end(), std::back_inserter(order), decodes);
  std::copy_if(running.begin(), running.end(), std::back_inserter(order), std::not_fn(decodes));
  for (RequestId id : order) {
    if (plan.totalTokens >= options_.tokenBudget)
      return;
    // Preempt until the pages are there, or it was itself preempted.
    while (sequences_.at(id).key == std::nullopt && !serve(id, plan)) {
      std::vector<RequestState> candidates = states(running);
      preempt(candidates[options_.victim(candidates)].id, plan);
    }
  }
}

/// Gives a running request its tokens of this step; fails without its pages.
Status Scheduler::Impl::serve(RequestId id, StepPlan &plan) {
  Sequence &sequence = sequences_.at(id);
  int32_t tokens = std::min(sequence.knownTokens - sequence.state.computedTokens, chunkLimit(plan));
  if (Status ok = manager_.reserve(id, sequence.state.computedTokens + tokens); !ok)
    return ok;
  addEntry(sequence, tokens, plan);
  return {};
}

void Scheduler::Impl::addEntry(Sequence &sequence, int32_t tokens, StepPlan &plan) {
  const RequestState &state = sequence.state;
  StepEntry entry{.request = state.id, .row = sequence.row};
  entry.kind = sequence.decodes() ? StepEntry::Kind::Decode : StepEntry::Kind::Prefill;
  entry.context = state.computedTokens;
  entry.tokens = tokens;
  entry.recomputed = std::clamp(sequence.everComputed - state.computedTokens, 0, tokens);
  entry.samples = state.computedTokens + tokens == sequence.knownTokens;
  plan.totalTokens += tokens;
  plan.entries.push_back(entry);
}

/// Recompute, not swap: the pages go (findable ones may be hit again), the tokens stay.
void Scheduler::Impl::preempt(RequestId victim, StepPlan &plan) {
  Sequence &sequence = sequences_.at(victim);
  sequence.key = std::move(*manager_.preempt(victim));
  sequence.everComputed = std::max(sequence.everComputed, sequence.state.computedTokens);
  sequence.state.computedTokens = 0;
  ++sequence.state.preemptions;
  std::erase(running, victim);
  waiting.push_front(victim);
  ++resuming_;
  plan.preempted.push_back(victim);
  ++counters_.preemptions;
  // It may have been served in this step already.
  auto entry = std::find_if(plan.entries.begin(), plan.entries.end(),
                            [=](const StepEntry &e) { return e.request == victim; });
  if (entry == plan.entries.end())
    return;
  plan.totalTokens -= entry->tokens;
  plan.entries.erase(entry);
}

void Scheduler::Impl::scheduleWaiting(StepPlan &plan) {
  while (!waiting.empty() && static_cast<int32_t>(running.size()) < options_.maxRunning &&
         plan.totalTokens < options_.tokenBudget && admitHead(plan)) {
  }
}

bool Scheduler::Impl::admitHead(StepPlan &plan) {
  Sequence &sequence = sequences_.at(waiting.front());
  int32_t limit = chunkLimit(plan);
  if (!options_.chunkedPrefill) {
    int32_t hit = sequence.lookUp ? manager_.peek(*sequence.key).hitTokens : 0;
    if (sequence.knownTokens - hit > limit)
      return false;
    limit = sequence.knownTokens;
  }
  bool resumed = sequence.state.preemptions > 0;
  auto admission = manager_.admit(sequence.state.id, std::move(*sequence.key),
                                  {.newTokens = limit,
                                   .wholePromptMustFit = options_.wholePromptMustFit,
                                   .watermarkPages = watermarkPages_,
                                   .lookUp = sequence.lookUp,
                                   .store = sequence.store,
                                   .resumed = resumed,
                                   .retention = sequence.retention});
  if (!admission)
    return false;
  sequence.key.reset();
  sequence.row = admission->row;
  sequence.state.computedTokens = admission->match.hitTokens;
  sequence.state.admitted = ++admissions_;
  waiting.pop_front();
  if (resuming_ > 0)
    --resuming_;
  running.push_back(sequence.state.id);
  addEntry(sequence, std::min(limit, sequence.knownTokens - sequence.state.computedTokens), plan);
  // A resumed request may lack one token only: it is no decode, and stands behind them.
  plan.entries.back().kind = StepEntry::Kind::Prefill;
  plan.entries.back().admitted = true;
  plan.entries.back().resumed = resumed;
  plan.entries.back().match = admission->match;
  return true;
}

void Scheduler::Impl::finishPlan(StepPlan &plan) {
  for (const StepEntry &entry : plan.entries) {
    plan.decodeTokens += entry.kind == StepEntry::Kind::Decode ? entry.tokens : 0;
    counters_.recomputedTokens += entry.recomputed;
  }
  plan.changes = manager_.drainChanges();
  plan.paddedTokens = tokenBuckets_.roundUp(plan.totalTokens);
  plan.paddedRequests = batchBuckets_.roundUp(static_cast<int32_t>(plan.entries.size()));
  plan.blocked = plan.entries.empty() && plan.preempted.empty() && !waiting.empty();
  ++counters_.steps;
  counters_.scheduledTokens += plan.totalTokens;
}

//===----------------------------------------------------------------------===//
// Applying a step's results
//===----------------------------------------------------------------------===//

Status Scheduler::Impl::checkResult(const StepResult &result) const {
  if (!out_ || result.step != step_)
    return fail(ErrorCode::InvalidArgument,
                out_ ? "complete expects the results of step " + to_string(step_) + ", got step " +
                           to_string(result.step)
                     : "complete expects a step that is out: call schedule() first");
  std::unordered_map<RequestId, int> missing;
  for (const StepEntry &entry : *out_)
    if (entry.samples)
      missing[entry.request] = 1;
  for (const SampledToken &token : result.tokens) {
    auto found = missing.find(token.request);
    if (found == missing.end() || token.token < 0)
      return fail(ErrorCode::InvalidArgument,
                  "complete expects one token, 0 or more, for each entry that samples; got token " +
                      to_string(token.token) + " for request " + to_string(token.request));
    missing.erase(found);
  }
  for (const auto &[id, _] : missing)
    if (sequences_.contains(id)) // an aborted one owes nothing
      return fail(ErrorCode::InvalidArgument,
                  "complete expects a token for request " + to_string(id) + ", got none");
  return {};
}

Result<StepOutcome> Scheduler::Impl::complete(const StepResult &result) {
  if (Status ok = checkResult(result); !ok)
    return tl::unexpected(ok.error());
  std::unordered_map<RequestId, const SampledToken *> sampled;
  for (const SampledToken &token : result.tokens)
    sampled[token.request] = &token;
  std::vector<StepEntry> entries = std::move(*out_);
  out_.reset();
  StepOutcome outcome;
  for (const StepEntry &entry : entries) {
    if (!sequences_.contains(entry.request))
      continue; // aborted while the step was out
    const SampledToken *token = entry.samples ? sampled.at(entry.request) : nullptr;
    if (Status ok = applyEntry(entry, token, outcome); !ok)
      return tl::unexpected(ok.error());
  }
  return outcome;
}

/// Fails only if somebody else meddled with the request.
Status Scheduler::Impl::applyEntry(const StepEntry &entry, const SampledToken *token,
                                   StepOutcome &outcome) {
  Sequence &sequence = sequences_.at(entry.request);
  sequence.state.computedTokens += entry.tokens;
  if (Status ok = manager_.markComputed(entry.request, sequence.state.computedTokens); !ok)
    return ok;
  if (!token)
    return {};
  if (Status ok = manager_.append(entry.request, std::span(&token->token, 1)); !ok)
    return ok;
  ++sequence.knownTokens;
  if (++sequence.state.generatedTokens < sequence.maxNewTokens && !token->last)
    return {};
  if (Status ok = manager_.finish(entry.request); !ok)
    return ok;
  outcome.finished.push_back(entry.request);
  ++counters_.finished;
  forget(entry.request);
  return {};
}

//===----------------------------------------------------------------------===//
// Questions, and the public face
//===----------------------------------------------------------------------===//

std::vector<RequestState> Scheduler::Impl::states(const std::deque<RequestId> &ids) const {
  std::vector<RequestState> result;
  for (RequestId id : ids)
    result.push_back(sequences_.at(id).state);
  return result;
}

SchedulerCounters Scheduler::Impl::snapshot() const {
  SchedulerCounters result = counters_;
  result.waiting = static_cast<int64_t>(waiting.size());
  result.running = static_cast<int64_t>(running.size());
  return result;
}

Result<std::unique_ptr<Scheduler>> Scheduler::create(KvCacheManager &manager,
                                                     const SchedulerOptions &options) {
  auto expects = [](std::string what) {
    return fail(ErrorCode::InvalidArgument, "Scheduler expects " + what);
  };
  if (options.tokenBudget < 1 || options.maxRunning < 1)
    return expects("tokenBudget and maxRunning of 1 or more, got " +
                   to_string(options.tokenBudget) + " and " + to_string(options.maxRunning));
  if (options.maxPrefillChunk < 0)
    return expects("maxPrefillChunk of 0 or more, got " + to_string(options.maxPrefillChunk));
  if (!(options.watermark >= 0 && options.watermark < 1))
    return expects("a watermark from 0 up to 1, got " + to_string(options.watermark));
  if (!options.order || !options.victim)
    return expects("an order and a victim policy, got null");
  auto batch = ShapeBuckets::create(options.batchBuckets);
  auto tokens = ShapeBuckets::create(options.tokenBuckets);
  if (!batch || !tokens)
    return tl::unexpected((batch ? tokens : batch).error());
  auto impl = std::make_unique<Impl>(manager, options, std::move(*batch), std::move(*tokens));
  return std::unique_ptr<Scheduler>(new Scheduler(std::move(impl)));
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scheduler::~Scheduler() = default;

Status Scheduler::add(ServingRequest request) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->add(std::move(request));
}

Status Scheduler::abort(RequestId request) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->abort(request);
}

Result<StepPlan> Scheduler::schedule() {
  std::scoped_lock lock(impl_->mutex);
  return impl_->schedule();
}

Result<StepOutcome> Scheduler::complete(const StepResult &result) {
  std::scoped_lock lock(impl_->mutex);
  return impl_->complete(result);
}

bool Scheduler::idle() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->waiting.empty() && impl_->running.empty();
}

std::vector<RequestState> Scheduler::running() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->states(impl_->running);
}

std::vector<RequestState> Scheduler::waiting() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->states(impl_->waiting);
}

SchedulerCounters Scheduler::counters() const {
  std::scoped_lock lock(impl_->mutex);
  return impl_->snapshot();
}
