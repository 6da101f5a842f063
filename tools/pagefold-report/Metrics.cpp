//===- Metrics.cpp - what a replay amounts to -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metrics.h"

#include "HitRates.h"

#include <algorithm>
#include <array>

namespace pagefold::report {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

void measureLatency(const ReplayResult &result, Metrics &metrics) {
  std::vector<double> ttft, tpot, endToEnd, queue, prefill, decode;
  for (const RequestRecord &request : result.requests) {
    metrics.rejected += request.rejected;
    if (!request.finished)
      continue;
    ++metrics.completed;
    ttft.push_back(request.ttft());
    queue.push_back(request.queueTime());
    prefill.push_back(request.firstToken - request.admitted);
    decode.push_back(request.lastToken - request.firstToken);
    endToEnd.push_back(request.endToEnd());
    if (request.outputTokens > 1)
      tpot.push_back(request.tpot());
  }
  metrics.ttft = summarize(std::move(ttft));
  metrics.tpot = summarize(std::move(tpot));
  metrics.itl = summarize(result.tokenGaps);
  metrics.endToEnd = summarize(std::move(endToEnd));
  metrics.queue = summarize(std::move(queue));
  metrics.prefill = summarize(std::move(prefill));
  metrics.decode = summarize(std::move(decode));
  metrics.longestStall = metrics.itl.max;
}

void measureThroughput(const ReplayResult &result, const ServiceLevels &levels, Metrics &metrics) {
  uint64_t prompt = 0, output = 0, computed = 0, good = 0;
  for (const RequestRecord &request : result.requests) {
    if (!request.finished)
      continue;
    prompt += request.promptTokens;
    output += request.emitted;
    computed += request.prefilledTokens;
    good += request.ttft() <= levels.ttft &&
            (request.outputTokens <= 1 || request.tpot() <= levels.tpot);
  }
  const StepCounts &steps = result.steps;
  metrics.requestThroughput = ratio(metrics.completed, result.makespan);
  metrics.goodput = ratio(good, result.makespan);
  metrics.goodShare = ratio(good, metrics.completed);
  metrics.outputThroughput = ratio(output, result.makespan);
  metrics.totalThroughput = ratio(prompt + output, result.makespan);
  metrics.prefillThroughput = ratio(computed, result.makespan);
  metrics.recomputeTax = ratio(steps.recomputedTokens, steps.prefillTokens + steps.decodeTokens);
  metrics.idleTime = 1 - ratio(result.time.busy, result.makespan);
}

ReuseMetrics measureReuse(const Trace &trace, const ReplayResult &result) {
  ReuseMetrics reuse;
  uint64_t tokens = 0, hits = 0, requests = 0;
  std::vector<double> lengths;
  for (const RequestRecord &request : result.requests) {
    if (!request.wasAdmitted)
      continue;
    ++requests;
    tokens += request.promptTokens;
    hits += request.hitTokens;
    reuse.byRequests += request.hitTokens > 0;
    reuse.meanPerRequest += double(request.hitTokens) / request.promptTokens;
    lengths.push_back(request.hitTokens);
  }
  reuse.byTokens = ratio(hits, tokens);
  reuse.byPages = ratio(result.pages.hitPages, result.pages.queriedPages);
  reuse.byRequests = ratio(reuse.byRequests, requests);
  reuse.meanPerRequest = ratio(reuse.meanPerRequest, requests);
  reuse.ceiling = hitRate(trace, Eviction::LeastRecent, 0).tokens;
  reuse.hitLength = summarize(std::move(lengths));
  return reuse;
}

PoolMetrics measurePool(const ReplayResult &result) {
  Levels sum;
  double time = 0;
  for (const TimeBin &bin : result.series.bins()) {
    time += bin.time;
    sum.livePages += bin.integral.livePages;
    sum.idlePages += bin.integral.idlePages;
    sum.freePages += bin.integral.freePages;
    sum.liveTokens += bin.integral.liveTokens;
  }
  double pool = time * result.poolPages;
  PoolMetrics metrics;
  metrics.live = ratio(sum.livePages, pool);
  metrics.idle = ratio(sum.idlePages, pool);
  metrics.free = ratio(sum.freePages, pool);
  metrics.watermark = ratio(result.watermark, result.poolPages);
  if (sum.livePages > 0)
    metrics.fragmentation = 1 - sum.liveTokens / (sum.livePages * result.pageSize);
  return metrics;
}

/// The slope over `x`, times the span of `x`, over the mean of `y`.
double growth(const std::vector<double> &x, const std::vector<double> &y) {
  Summary summary = summarize(y);
  return summary.mean > 0 ? slope(x, y) * (x.back() - x.front()) / summary.mean : 0;
}

Saturation measureSaturation(const Trace &trace, const ReplayResult &result) {
  // Below this many requests a slope says nothing.
  constexpr size_t fewest = 20;
  // A steady queue has no growth; one that only fills grows by 2 (from 0 to twice the mean).
  constexpr double growing = 0.5;
  Saturation saturation;
  std::vector<double> arrivals, ttfts, times, levels;
  for (const RequestRecord &request : result.requests)
    if (request.finished) {
      arrivals.push_back(request.arrival);
      ttfts.push_back(request.ttft());
    }
  for (size_t i = 0; i < result.series.bins().size(); ++i) {
    const TimeBin &bin = result.series.bins()[i];
    double time = (i + 0.5) * result.series.binWidth();
    if (bin.time == 0 || time > trace.duration())
      continue;
    times.push_back(time);
    levels.push_back((bin.integral.running + bin.integral.waiting) / bin.time);
  }
  if (arrivals.size() < fewest || times.size() < 2 || trace.duration() <= 0)
    return saturation;
  saturation.ttftSlope = slope(arrivals, ttfts);
  saturation.ttftGrowth = growth(arrivals, ttfts);
  saturation.concurrencyGrowth = growth(times, levels);
  // Growth while nobody waits is a service that warms up, not one that falls behind.
  bool waits = result.waiting.total() > 0.1 * result.time.busy;
  saturation.saturated =
      waits && saturation.ttftGrowth > growing && saturation.concurrencyGrowth > growing;
  return saturation;
}

Bottleneck findBottleneck(const ReplayResult &result) {
  const WaitingTime &waiting = result.waiting;
  const TimeSpent &time = result.time;
  // Pages bound a replay in which somebody waits for them half of the time.
  if (waiting.pages > 0.5 * time.busy)
    return Bottleneck::KvCapacity;
  if (time.overhead >= std::max(time.compute(), time.bandwidth()))
    return Bottleneck::Overhead;
  return time.compute() >= time.bandwidth() ? Bottleneck::Compute : Bottleneck::Bandwidth;
}

} // namespace

const char *nameOf(Bottleneck bottleneck) {
  constexpr std::array names = {"compute", "bandwidth", "overhead", "KV capacity"};
  return names[size_t(bottleneck)];
}

Metrics measure(const Trace &trace, const ReplayResult &result, const ServiceLevels &levels) {
  Metrics metrics;
  measureLatency(result, metrics);
  measureThroughput(result, levels, metrics);
  if (trace.hasSpans)
    metrics.reuse = measureReuse(trace, result);
  metrics.pool = measurePool(result);
  metrics.saturation = measureSaturation(trace, result);
  metrics.bottleneck = findBottleneck(result);
  return metrics;
}

double finalTailWaste(const Trace &trace, uint32_t pageSize) {
  uint64_t tokens = 0, slots = 0;
  for (const TraceRequest &request : trace.requests) {
    uint64_t length = uint64_t(request.promptTokens) + request.outputTokens;
    tokens += length;
    slots += (length + pageSize - 1) / pageSize * pageSize;
  }
  return 1 - ratio(double(tokens), double(slots));
}

} // namespace pagefold::report
