//===- ReuseLedger.h - where the tokens of the prompts came from -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every prompt token is either reused or computed, and if it was computed there is one reason.
// What could have been reused is known from the trace: the leading spans that an earlier request
// had too. What became of them is known from the replay.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REUSELEDGER_H
#define PAGEFOLD_REPORT_REUSELEDGER_H

#include "Trace.h"

#include <cstdint>
#include <vector>

namespace pagefold::report {

/// Prompt tokens at first admission. The fields add up to the prompt.
struct PromptSources {
  uint64_t reused = 0;    ///< found in the cache
  uint64_t cold = 0;      ///< no earlier request had them after the same tokens
  uint64_t evicted = 0;   ///< computed once, and gone
  uint64_t subPage = 0;   ///< there, but in less than a page
  uint64_t lastToken = 0; ///< there, but the last token is computed for its logits
  uint64_t inFlight = 0;  ///< an earlier request had them, and has not yet computed them
  uint64_t disabled = 0;  ///< shared, but prefix caching is off

  uint64_t total() const;
  /// What an infinite cache, filled at admission, would have reused.
  uint64_t reusable() const;
  void add(const PromptSources &other);
};

class ReuseLedger {
public:
  ReuseLedger(const Trace &trace, uint32_t pageSize, bool prefixCaching);

  /// To be called once a request, in the order of first admissions.
  PromptSources admit(size_t request, uint32_t hitTokens);
  /// K and V of the request's first `tokens` tokens are in the cache.
  void markComputed(size_t request, uint32_t tokens);

private:
  uint32_t spanEnd(size_t request, size_t span) const;
  /// The leading tokens that admitted requests had too; marks all spans as seen.
  uint32_t seenBefore(size_t request);
  void addMissed(size_t request, uint32_t begin, uint32_t end, PromptSources &sources) const;

  const Trace &trace;
  uint32_t pageSize;
  bool prefixCaching;
  std::vector<std::vector<uint32_t>> spans; ///< by request: indices of spans, identity included
  std::vector<uint32_t> nextSpan;           ///< by request: the first one not yet computed
  std::vector<bool> seen, computed;         ///< by span
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REUSELEDGER_H
