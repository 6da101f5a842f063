//===- Replay.cpp - a trace through the real manager and scheduler --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include "PromptTokens.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace pagefold::report {

using namespace runtime;

namespace {

/// Page ids are 32 bits wide, and the replay keeps some 100 bytes for each.
constexpr uint64_t maxPages = 1u << 26;

/// Pages of the pool: as asked for, as the model file says, or what fits the device.
Result<uint64_t> pagesThatFit(const CostModel &cost, const ReplayOptions &options) {
  const Model &model = cost.model();
  const Device &device = cost.device();
  uint64_t pages = options.poolPages ? options.poolPages
                   : model.poolPages ? model.poolPages
                                     : device.pagesFor(model);
  if (pages == 0)
    return fail(ErrorCode::OutOfCapacity,
                model.name + " needs " + std::to_string(model.weightBytes() / 1e9) +
                    " GB for its weights, and " + device.name + " gives " +
                    std::to_string(device.memory * device.memoryFraction / 1e9) +
                    " GB: nothing is left for pages. Take a larger device or fp8 weights, or set "
                    "--pool-pages");
  return pages;
}

/// All requests at once, with nothing shared: more pages than that are never touched.
uint64_t pagesThatTraceFills(const Trace &trace, uint32_t pageSize) {
  uint64_t pages = 0;
  for (const TraceRequest &request : trace.requests)
    pages += (uint64_t(request.promptTokens) + request.outputTokens) / pageSize + 1;
  return pages;
}

int32_t longestTable(const Trace &trace, uint32_t pageSize, int32_t pages) {
  uint64_t tokens = 1;
  for (const TraceRequest &request : trace.requests)
    tokens = std::max<uint64_t>(tokens, uint64_t(request.promptTokens) + request.outputTokens);
  return int32_t(std::min<uint64_t>((tokens + pageSize - 1) / pageSize, uint64_t(pages)));
}

class Replayer {
public:
  static Result<std::unique_ptr<Replayer>> create(const Trace &trace, const CostModel &cost,
                                                  const ReplayOptions &options);
  Result<ReplayResult> run();

private:
  Replayer(const Trace &trace, const CostModel &cost, const ReplayOptions &options,
           PromptTokens tokens)
      : trace(trace), cost(cost), options(options), tokens(std::move(tokens)),
        ledger(trace, cost.model().pageSize, options.prefixCaching),
        computedUpTo(trace.requests.size(), 0) {}

  void recordArrivals();
  Result<void> takeArrivals();
  Result<void> handOver(size_t request);
  /// Nothing runs: on to the next arrival. False when there is none.
  bool skipIdleTime();
  Result<void> step();
  void noteEntry(const StepEntry &entry, StepShape &shape, uint64_t &prefillTokens);
  void noteAdmission(const StepEntry &entry);
  void noteComputed(const StepEntry &entry);
  void noteToken(size_t request, double time);
  void noteTime(const StepCost &price, const StepShape &shape, uint32_t prefillRows);
  void noteWaiting(const StepPlan &plan, double duration);
  Levels levelsDuring(const StepPlan &plan) const;
  Result<void> finishStep(const StepPlan &plan, double end);
  void survey(double stepDuration);
  ReplayResult takeResult();

  const Trace &trace;
  const CostModel &cost;
  const ReplayOptions &options;
  PromptTokens tokens;
  ReuseLedger ledger;
  std::unique_ptr<KvCacheManager> manager;
  std::unique_ptr<Scheduler> scheduler;

  double now = 0, nextSurvey = 0;
  size_t nextArrival = 0, ended = 0;
  std::deque<size_t> pending;         ///< arrived, not yet handed to the scheduler
  std::vector<uint32_t> computedUpTo; ///< by request: tokens it computed or found, at most
  std::vector<size_t> running;        ///< requests that have been admitted and not finished
  ReplayResult result;
};

Result<std::unique_ptr<Replayer>> Replayer::create(const Trace &trace, const CostModel &cost,
                                                   const ReplayOptions &options) {
  auto fit = pagesThatFit(cost, options);
  auto tokens = PromptTokens::create(trace);
  if (!fit)
    return tl::unexpected(fit.error());
  if (!tokens)
    return tl::unexpected(tokens.error());
  std::unique_ptr<Replayer> replayer(new Replayer(trace, cost, options, std::move(*tokens)));
  ReplayResult &result = replayer->result;
  result.pageSize = cost.model().pageSize;
  result.pagesThatFit = *fit;
  result.poolPages = std::min({*fit, pagesThatTraceFills(trace, result.pageSize), maxPages});
  const auto pages = int32_t(result.poolPages);
  result.lives = std::make_unique<PageLives>(result.poolPages);
  result.survey = std::make_unique<PageSurvey>(result.pageSize, result.poolPages, *result.lives);
  auto manager =
      KvCacheManager::create({.numPages = pages,
                              .pageSize = int32_t(result.pageSize),
                              .maxRequests = options.scheduler.maxRunning,
                              .maxPagesPerRequest = longestTable(trace, result.pageSize, pages),
                              .prefixCaching = options.prefixCaching,
                              .eviction = options.eviction,
                              .minPartialHit = options.minPartialHit,
                              .observer = result.lives.get()});
  if (!manager)
    return tl::unexpected(manager.error());
  auto scheduler = Scheduler::create(**manager, options.scheduler);
  if (!scheduler)
    return tl::unexpected(scheduler.error());
  replayer->manager = std::move(*manager);
  replayer->scheduler = std::move(*scheduler);
  replayer->recordArrivals();
  return replayer;
}

void Replayer::recordArrivals() {
  for (const TraceRequest &request : trace.requests) {
    RequestRecord record;
    record.arrival = request.arrival;
    record.promptTokens = request.promptTokens;
    record.outputTokens = request.outputTokens;
    record.tenant = request.tenant;
    record.adapter = request.adapter;
    result.requests.push_back(record);
  }
}

/// Requests beyond what one step could admit wait here and not in the scheduler, without tokens
/// and hashes: first come, first served makes the same plans, and a long line costs no memory.
Result<void> Replayer::takeArrivals() {
  while (nextArrival < trace.requests.size() && trace.requests[nextArrival].arrival <= now)
    pending.push_back(nextArrival++);
  while (!pending.empty() && scheduler->counters().waiting < options.scheduler.maxRunning) {
    if (auto done = handOver(pending.front()); !done)
      return done;
    pending.pop_front();
  }
  return {};
}

Result<void> Replayer::handOver(size_t index) {
  const TraceRequest &request = trace.requests[index];
  std::vector<TokenId> prompt = tokens.of(request);
  PromptView view{.tokens = prompt};
  view.identity.salt = trace.tenants[request.tenant];
  view.identity.adapter = trace.adapters[request.adapter];
  auto key = PrefixKey::create(view, int32_t(result.pageSize));
  if (!key)
    return tl::unexpected(key.error());
  auto added = scheduler->add(
      {.id = index, .key = std::move(*key), .maxNewTokens = int32_t(request.outputTokens)});
  if (!added) { // it could never run: the replay goes on without it
    if (result.firstRejection.empty())
      result.firstRejection = added.error().message();
    result.requests[index].rejected = true;
    ++ended;
  }
  return {};
}

bool Replayer::skipIdleTime() {
  if (nextArrival == trace.requests.size())
    return false;
  now = std::max(now, trace.requests[nextArrival].arrival);
  return true;
}

Result<ReplayResult> Replayer::run() {
  while (true) {
    if (auto taken = takeArrivals(); !taken)
      return tl::unexpected(taken.error());
    if (scheduler->idle()) {
      if (!skipIdleTime())
        break;
      continue;
    }
    if (auto stepped = step(); !stepped)
      return tl::unexpected(stepped.error());
    if (options.progress && result.steps.steps % 256 == 0)
      options.progress(ended, trace.requests.size());
  }
  return takeResult();
}

Result<void> Replayer::step() {
  result.lives->setTime(now, /*lookingUp=*/true);
  Result<StepPlan> plan = scheduler->schedule();
  if (!plan)
    return tl::unexpected(plan.error());
  for (RequestId id : plan->preempted)
    ++result.requests[id].preemptions;
  if (plan->blocked)
    return fail(ErrorCode::Internal, "the scheduler planned an empty step with " +
                                         std::to_string(scheduler->counters().waiting) +
                                         " requests in line: please report it with the trace");
  if (plan->entries.empty()) // the only one that ran preempted itself
    return finishStep(*plan, now);
  StepShape shape;
  uint64_t prefillTokens = 0;
  for (const StepEntry &entry : plan->entries)
    noteEntry(entry, shape, prefillTokens);
  uint32_t prefillRows = shape.sampledRows - shape.decodes;
  StepCost price = cost.price(shape);
  double duration = price.total();
  noteTime(price, shape, prefillRows);
  noteWaiting(*plan, duration);
  Levels levels = levelsDuring(*plan);
  result.series.addStep(now, duration, levels, prefillTokens, shape.decodes);
  result.watermark = std::max(result.watermark, uint64_t(levels.livePages));
  result.maxRunning = std::max(result.maxRunning, levels.running);
  result.maxWaiting = std::max(result.maxWaiting, levels.waiting);
  result.maxStep = std::max(result.maxStep, duration);
  if (options.survey && now >= nextSurvey)
    survey(duration);
  return finishStep(*plan, now + duration);
}

void Replayer::noteEntry(const StepEntry &entry, StepShape &shape, uint64_t &prefillTokens) {
  if (entry.admitted)
    noteAdmission(entry);
  noteComputed(entry);
  shape.sampledRows += entry.samples;
  if (entry.kind == StepEntry::Kind::Decode) {
    ++shape.decodes;
    shape.decodeContext += uint64_t(entry.context) + 1; // its own K and V are read back too
    return;
  }
  shape.prefills.push_back({uint32_t(entry.tokens), uint32_t(entry.context)});
  prefillTokens += uint64_t(entry.tokens);
}

void Replayer::noteAdmission(const StepEntry &entry) {
  size_t request = entry.request;
  RequestRecord &record = result.requests[request];
  uint32_t hit = uint32_t(entry.match.hitTokens);
  if (!entry.resumed) {
    record.wasAdmitted = true;
    record.admitted = now;
    record.hitTokens = hit;
    result.sources.add(ledger.admit(request, hit));
    running.push_back(request);
  } else if (hit > computedUpTo[request]) {
    record.reusedLater +=
        std::min(hit, record.promptTokens) - std::min(computedUpTo[request], record.promptTokens);
  }
  computedUpTo[request] = std::max(computedUpTo[request], hit);
}

void Replayer::noteComputed(const StepEntry &entry) {
  size_t request = entry.request;
  RequestRecord &record = result.requests[request];
  uint32_t begin = uint32_t(entry.context), end = begin + uint32_t(entry.tokens);
  uint32_t known = computedUpTo[request];
  uint32_t fresh = end - std::clamp(known, begin, end);
  uint32_t prompt = record.promptTokens;
  record.prefilledTokens +=
      std::min(end, prompt) - std::min(std::max(known, begin), std::min(end, prompt));
  record.recomputedTokens += uint32_t(entry.tokens) - fresh;
  result.steps.recomputedTokens += uint32_t(entry.tokens) - fresh;
  computedUpTo[request] = std::max(known, end);
  if (entry.kind == StepEntry::Kind::Decode)
    result.steps.decodeTokens += uint32_t(entry.tokens);
  else
    result.steps.prefillTokens += uint32_t(entry.tokens);
}

void Replayer::noteTime(const StepCost &price, const StepShape &shape, uint32_t prefillRows) {
  TimeSpent &time = result.time;
  double prefillPart = double(shape.prefillTokens()) / shape.tokens();
  double prefillHead = shape.sampledRows ? double(prefillRows) / shape.sampledRows : 0;
  time.busy += price.total();
  time.overhead += price.overhead;
  time.prefillLinear += price.linear * prefillPart;
  time.decodeLinear += price.linear * (1 - prefillPart);
  time.prefillHead += price.lmHead * prefillHead;
  time.decodeHead += price.lmHead * (1 - prefillHead);
  time.prefillAttention += price.prefillAttention;
  time.decodeAttention += price.decodeAttention;
  if (price.linearComputeBound) {
    time.prefillLinearCompute += price.linear * prefillPart;
    time.decodeLinearCompute += price.linear * (1 - prefillPart);
  }
  time.prefillAttentionCompute += price.prefillComputeBound;
  StepCounts &steps = result.steps;
  bool decodes = shape.decodes > 0, prefills = !shape.prefills.empty();
  ++steps.steps;
  steps.mixed += decodes && prefills;
  steps.decodeOnly += decodes && !prefills;
  steps.prefillOnly += prefills && !decodes;
  uint64_t layers = cost.model().layers;
  steps.attentionLaunches += layers * (uint64_t(decodes) + uint64_t(prefills));
  steps.productLaunches += 4 * layers + (shape.sampledRows > 0);
}

void Replayer::noteWaiting(const StepPlan &plan, double duration) {
  SchedulerCounters counters = scheduler->counters();
  if (counters.waiting == 0 && pending.empty())
    return;
  if (plan.totalTokens >= options.scheduler.tokenBudget)
    result.waiting.tokenBudget += duration;
  else if (counters.running >= options.scheduler.maxRunning)
    result.waiting.sequences += duration;
  else
    result.waiting.pages += duration;
}

Levels Replayer::levelsDuring(const StepPlan &plan) const {
  KvCounters pages = manager->counters();
  SchedulerCounters line = scheduler->counters();
  Levels levels;
  levels.livePages = double(pages.livePages);
  levels.idlePages = double(pages.idlePages);
  levels.freePages = double(pages.freePages);
  levels.liveTokens = double(pages.liveTokens + plan.totalTokens);
  levels.running = double(line.running);
  levels.waiting = double(line.waiting) + double(pending.size());
  return levels;
}

void Replayer::noteToken(size_t request, double time) {
  RequestRecord &record = result.requests[request];
  if (record.emitted++ == 0) {
    record.firstToken = time;
  } else {
    double gap = time - record.lastToken;
    result.tokenGaps.push_back(gap);
    record.longestGap = std::max(record.longestGap, gap);
  }
  record.lastToken = time;
}

Result<void> Replayer::finishStep(const StepPlan &plan, double end) {
  now = end;
  result.lives->setTime(now, /*lookingUp=*/false);
  StepResult sampled{.step = plan.step, .tokens = {}};
  for (const StepEntry &entry : plan.entries) {
    ledger.markComputed(entry.request, uint32_t(entry.context + entry.tokens));
    if (!entry.samples)
      continue;
    noteToken(entry.request, end);
    sampled.tokens.push_back({.request = entry.request, .token = tokens.unique()});
  }
  Result<StepOutcome> outcome = scheduler->complete(sampled);
  if (!outcome)
    return tl::unexpected(outcome.error());
  for (RequestId id : outcome->finished) {
    result.requests[id].finished = true;
    running.erase(std::find(running.begin(), running.end(), id));
    ++ended;
  }
  return {};
}

/// A hundred surveys over the trace's arrivals, and fewer and fewer of what comes after; at most
/// one in twenty steps where the trace is one burst.
void Replayer::survey(double stepDuration) {
  double sparser = std::exp2(double(result.survey->surveys() / 100));
  nextSurvey = now + sparser * std::max(trace.duration() / 100, 20 * stepDuration);
  std::vector<Holder> holders;
  for (size_t request : running) {
    const TraceRequest &source = trace.requests[request];
    std::string prefix = "no ids";
    if (!source.spans.empty())
      prefix = "span " + std::to_string(source.spans.front());
    if (!trace.tenants[source.tenant].empty())
      prefix += " of tenant " + trace.tenants[source.tenant];
    if (!trace.adapters[source.adapter].empty())
      prefix += " with adapter " + trace.adapters[source.adapter];
    holders.push_back({request, result.requests[request].admitted, std::move(prefix)});
  }
  result.survey->take(*manager, holders);
}

ReplayResult Replayer::takeResult() {
  for (const RequestRecord &record : result.requests)
    result.makespan = std::max(result.makespan, record.lastToken);
  result.pages = manager->counters();
  result.scheduler = scheduler->counters();
  return std::move(result);
}

/// Compares two sums and words the difference.
class Sums {
public:
  void expectEqual(const char *what, uint64_t left, uint64_t right) {
    if (left != right && error.empty())
      error = std::string("the totals do not reconcile: ") + what + ": " + std::to_string(left) +
              " is not " + std::to_string(right);
  }
  Status status() const { return error.empty() ? Status() : fail(ErrorCode::Internal, error); }

private:
  std::string error;
};

} // namespace

Status reconcile(const Trace &trace, const ReplayResult &result) {
  uint64_t tokensIn = 0, tokensOut = 0, prefilled = 0, reused = 0, firstHits = 0, emitted = 0;
  for (const RequestRecord &record : result.requests) {
    if (record.rejected)
      continue;
    tokensIn += record.promptTokens;
    tokensOut += record.outputTokens;
    prefilled += record.prefilledTokens;
    reused += record.hitTokens + record.reusedLater;
    firstHits += record.hitTokens;
    emitted += record.emitted;
  }
  const KvCounters &pages = result.pages;
  const StepCounts &steps = result.steps;
  Sums sums;
  sums.expectEqual("tokens in and tokens prefilled + reused", tokensIn, prefilled + reused);
  sums.expectEqual("tokens out and tokens asked for", emitted, tokensOut);
  sums.expectEqual("prompt tokens and their sources", result.sources.total(), tokensIn);
  sums.expectEqual("reused tokens and the manager's hits", firstHits, uint64_t(pages.hitTokens));
  sums.expectEqual("computed tokens and the manager's count",
                   steps.prefillTokens + steps.decodeTokens, uint64_t(pages.computedTokens));
  sums.expectEqual("recomputed tokens and the scheduler's count", steps.recomputedTokens,
                   uint64_t(result.scheduler.recomputedTokens));
  sums.expectEqual("pages allocated and pages freed + held", result.lives->allocated,
                   result.lives->freed + uint64_t(pages.livePages + pages.idlePages));
  sums.expectEqual("pages and free + idle + live pages", uint64_t(pages.totalPages),
                   uint64_t(pages.freePages + pages.idlePages + pages.livePages));
  sums.expectEqual("pages allocated and the manager's count", result.lives->allocated,
                   uint64_t(pages.allocations));
  sums.expectEqual("live pages at the end and none", uint64_t(pages.livePages), 0);
  sums.expectEqual("requests and records", result.requests.size(), trace.requests.size());
  return sums.status();
}

Result<ReplayResult> replay(const Trace &trace, const CostModel &cost,
                            const ReplayOptions &options) {
  auto replayer = Replayer::create(trace, cost, options);
  if (!replayer)
    return tl::unexpected(replayer.error());
  Result<ReplayResult> result = (*replayer)->run();
  if (!result)
    return result;
  if (auto checked = reconcile(trace, *result); !checked)
    return tl::unexpected(checked.error());
  return result;
}

} // namespace pagefold::report
