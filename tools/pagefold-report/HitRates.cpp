//===- HitRates.cpp - what any cache could reuse of a trace ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HitRates.h"

#include "SpanKey.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace pagefold::report {
namespace {

class SpanCache {
public:
  SpanCache(Eviction policy, size_t capacity) : policy(policy), capacity(capacity) {}

  bool contains(const SpanKey &key) const { return entries.count(key); }

  /// Inserts the span, or marks that it was asked for once more.
  void touch(const SpanKey &key) {
    auto it = entries.find(key);
    uint64_t uses = 0;
    if (it != entries.end()) {
      uses = it->second.first;
      order.erase({it->second.first, it->second.second, key});
    } else if (capacity && entries.size() >= capacity) {
      entries.erase(std::get<SpanKey>(*order.begin()));
      order.erase(order.begin());
    }
    uses += policy == Eviction::LeastFrequent;
    entries[key] = {uses, ++clock};
    order.insert({uses, clock, key});
  }

private:
  Eviction policy;
  size_t capacity;
  uint64_t clock = 0;
  std::unordered_map<SpanKey, std::pair<uint64_t, uint64_t>, SpanKeyHash> entries;
  std::set<std::tuple<uint64_t, uint64_t, SpanKey>> order; ///< the next to go first
};

uint32_t reusableTokens(const TraceRequest &request, size_t spans, uint32_t spanTokens) {
  return uint32_t(std::min<uint64_t>(uint64_t(spans) * spanTokens, request.promptTokens - 1));
}

/// For each request, the leading spans found in an infinite cache.
std::vector<size_t> infiniteCacheSpans(const Trace &trace) {
  std::unordered_set<SpanKey, SpanKeyHash> seen;
  std::vector<size_t> found;
  for (const TraceRequest &request : trace.requests) {
    size_t hits = 0;
    while (hits < request.spans.size() && seen.count(spanKey(request, hits)))
      ++hits;
    found.push_back(hits);
    for (size_t i = hits; i < request.spans.size(); ++i)
      seen.insert(spanKey(request, i));
  }
  return found;
}

} // namespace

HitRate hitRate(const Trace &trace, Eviction policy, size_t capacity) {
  SpanCache cache(policy, capacity);
  uint64_t tokens = 0, spans = 0, allSpans = 0;
  double shares = 0;
  for (const TraceRequest &request : trace.requests) {
    size_t hits = 0;
    while (hits < request.spans.size() && cache.contains(spanKey(request, hits)))
      ++hits;
    uint32_t reused = reusableTokens(request, hits, trace.spanTokens);
    tokens += reused;
    spans += hits;
    allSpans += request.spans.size();
    shares += double(reused) / request.promptTokens;
    for (size_t i = 0; i < request.spans.size(); ++i)
      cache.touch(spanKey(request, i));
  }
  return {double(tokens) / trace.promptTokens(), allSpans ? double(spans) / allSpans : 0,
          shares / trace.requests.size()};
}

double hitRateAtGranule(const Trace &trace, uint32_t granule) {
  std::vector<size_t> spans = infiniteCacheSpans(trace);
  uint64_t tokens = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    uint64_t whole = uint64_t(spans[i]) * trace.spanTokens / granule * granule;
    tokens += std::min<uint64_t>(whole, trace.requests[i].promptTokens - 1);
  }
  return double(tokens) / trace.promptTokens();
}

std::vector<uint32_t> infiniteCacheHits(const Trace &trace) {
  std::vector<size_t> spans = infiniteCacheSpans(trace);
  std::vector<uint32_t> tokens;
  for (size_t i = 0; i < spans.size(); ++i)
    tokens.push_back(reusableTokens(trace.requests[i], spans[i], trace.spanTokens));
  return tokens;
}

size_t distinctSpans(const Trace &trace) {
  std::unordered_set<SpanKey, SpanKeyHash> seen;
  for (const TraceRequest &request : trace.requests)
    for (size_t i = 0; i < request.spans.size(); ++i)
      seen.insert(spanKey(request, i));
  return seen.size();
}

} // namespace pagefold::report
