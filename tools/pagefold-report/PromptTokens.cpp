//===- PromptTokens.cpp - token ids for a trace that has none -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PromptTokens.h"

namespace pagefold::report {

Result<PromptTokens> PromptTokens::create(const Trace &trace) {
  PromptTokens tokens(trace.spanTokens);
  for (const TraceRequest &request : trace.requests)
    for (uint64_t span : request.spans)
      tokens.spanIndices.try_emplace(span, uint32_t(tokens.spanIndices.size()));
  if (tokens.spanIndices.size() * trace.spanTokens > uint64_t(firstUnique))
    return fail(ErrorCode::Unsupported,
                trace.name + ": expects spans of at most 2^30 tokens together, got " +
                    std::to_string(tokens.spanIndices.size()) + " spans of " +
                    std::to_string(trace.spanTokens) + ": use --limit");
  return tokens;
}

std::vector<runtime::TokenId> PromptTokens::of(const TraceRequest &request) {
  std::vector<runtime::TokenId> tokens(request.promptTokens);
  if (request.spans.empty()) {
    for (runtime::TokenId &token : tokens)
      token = unique();
    return tokens;
  }
  for (size_t span = 0; span < request.spans.size(); ++span) {
    size_t begin = span * spanTokens, end = std::min(begin + spanTokens, tokens.size());
    auto first = runtime::TokenId(uint64_t(spanIndices.at(request.spans[span])) * spanTokens);
    for (size_t i = begin; i < end; ++i)
      tokens[i] = first + runtime::TokenId(i - begin);
  }
  return tokens;
}

runtime::TokenId PromptTokens::unique() {
  return firstUnique + runtime::TokenId(uniqueGiven++ & (uint32_t(firstUnique) - 1));
}

} // namespace pagefold::report
