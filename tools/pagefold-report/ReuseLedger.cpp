//===- ReuseLedger.cpp - where the tokens of the prompts came from --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReuseLedger.h"

#include "SpanKey.h"

#include <algorithm>
#include <unordered_map>

namespace pagefold::report {

uint64_t PromptSources::total() const { return cold + lastToken + reusable(); }

uint64_t PromptSources::reusable() const {
  return reused + evicted + subPage + inFlight + disabled;
}

void PromptSources::add(const PromptSources &other) {
  reused += other.reused;
  cold += other.cold;
  evicted += other.evicted;
  subPage += other.subPage;
  lastToken += other.lastToken;
  inFlight += other.inFlight;
  disabled += other.disabled;
}

ReuseLedger::ReuseLedger(const Trace &trace, uint32_t pageSize, bool prefixCaching)
    : trace(trace), pageSize(pageSize), prefixCaching(prefixCaching), spans(trace.requests.size()),
      nextSpan(trace.requests.size(), 0) {
  std::unordered_map<SpanKey, uint32_t, SpanKeyHash> indices;
  for (size_t r = 0; r < trace.requests.size(); ++r)
    for (size_t i = 0; i < trace.requests[r].spans.size(); ++i) {
      SpanKey key = spanKey(trace.requests[r], i);
      spans[r].push_back(indices.try_emplace(key, uint32_t(indices.size())).first->second);
    }
  seen.resize(indices.size());
  computed.resize(indices.size());
}

uint32_t ReuseLedger::spanEnd(size_t request, size_t span) const {
  uint64_t end = (uint64_t(span) + 1) * trace.spanTokens;
  return uint32_t(std::min<uint64_t>(end, trace.requests[request].promptTokens));
}

uint32_t ReuseLedger::seenBefore(size_t request) {
  uint32_t tokens = 0;
  bool contiguous = true;
  for (size_t i = 0; i < spans[request].size(); ++i) {
    uint32_t span = spans[request][i];
    contiguous &= seen[span];
    if (contiguous)
      tokens = spanEnd(request, i);
    seen[span] = true;
  }
  return tokens;
}

void ReuseLedger::addMissed(size_t request, uint32_t begin, uint32_t end,
                            PromptSources &sources) const {
  bool tail = end - begin < pageSize;
  for (uint32_t at = begin; at < end;) {
    size_t span = at / trace.spanTokens;
    uint32_t until = std::min(spanEnd(request, span), end);
    if (!prefixCaching)
      sources.disabled += until - at;
    else if (!computed[spans[request][span]])
      sources.inFlight += until - at;
    else if (tail)
      sources.subPage += until - at;
    else
      sources.evicted += until - at;
    at = until;
  }
}

PromptSources ReuseLedger::admit(size_t request, uint32_t hitTokens) {
  uint32_t prompt = trace.requests[request].promptTokens;
  uint32_t shared = std::max(seenBefore(request), hitTokens);
  PromptSources sources;
  sources.reused = hitTokens;
  sources.cold = prompt - shared;
  sources.lastToken = shared == prompt;
  uint32_t reusable = shared - uint32_t(sources.lastToken);
  addMissed(request, hitTokens, std::max(hitTokens, reusable), sources);
  return sources;
}

void ReuseLedger::markComputed(size_t request, uint32_t tokens) {
  uint32_t &next = nextSpan[request];
  while (next < spans[request].size() && spanEnd(request, next) <= tokens)
    computed[spans[request][next++]] = true;
}

} // namespace pagefold::report
