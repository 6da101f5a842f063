//===- PromptTokens.h - token ids for a trace that has none -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manager shares pages by comparing token ids, and traces hold none. We make some up: equal
// spans give equal tokens, and everything else (outputs, prompts without span ids) gives tokens
// that occur once, so that what is shared in the replay is exactly what the trace says is shared.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_PROMPTTOKENS_H
#define PAGEFOLD_REPORT_PROMPTTOKENS_H

#include "Trace.h"

#include "pagefold/runtime/PageTypes.h"

#include <unordered_map>

namespace pagefold::report {

class PromptTokens {
public:
  /// Fails where the spans have more tokens than there are ids to give. The trace must outlive
  /// this.
  static Result<PromptTokens> create(const Trace &trace);

  /// The prompt of one request of the trace.
  std::vector<runtime::TokenId> of(const TraceRequest &request);
  /// A token that is no other.
  runtime::TokenId unique();

private:
  explicit PromptTokens(uint32_t spanTokens) : spanTokens(spanTokens) {}

  // Ids below are those of spans, ids from here on are given once each (and after 2^30 again).
  static constexpr runtime::TokenId firstUnique = 1 << 30;

  uint32_t spanTokens;
  uint32_t uniqueGiven = 0;
  std::unordered_map<uint64_t, uint32_t> spanIndices;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_PROMPTTOKENS_H
