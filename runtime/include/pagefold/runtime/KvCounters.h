//===- KvCounters.h - everything the page manager counts --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_KVCOUNTERS_H
#define PAGEFOLD_RUNTIME_KVCOUNTERS_H

#include <array>
#include <cstdint>

namespace pagefold::runtime {

/// Why the part of a prompt after the hit was not found. For the operator: never show it to a
/// tenant, since OtherIdentity tells of another tenant's prompts.
enum class MissReason : uint8_t {
  None,          ///< nothing was missing (only with a limit other than "prompt - 1")
  LastToken,     ///< all found but the last token, which must be computed for its logits
  BelowOnePage,  ///< what is left is less than a page: too short to be findable
  Diverged,      ///< a cached prefix goes on from here with other tokens (see divergedAt)
  Evicted,       ///< the next page was cached once and has been evicted
  OtherIdentity, ///< the first page is cached for another salt, adapter or extra key
  InFlight,      ///< a running request is computing the same page right now
  NeverSeen,     ///< none of these: cold
  Disabled,      ///< prefix caching is off, or the request asked not to look
};
inline constexpr int kNumMissReasons = 9;

/// The name of a reason as reports print it: "never-seen", "below-one-page", ...
const char *missReasonName(MissReason reason);

/// A snapshot. The first group are levels (they go up and down), the rest only grow.
struct KvCounters {
  // Pages now: total = free + idle + live.
  int64_t totalPages = 0;
  int64_t freePages = 0;   ///< on the free list
  int64_t idlePages = 0;   ///< findable, referenced by nobody: evictable
  int64_t livePages = 0;   ///< referenced by a request or by a pending copy
  int64_t cachedPages = 0; ///< findable (idle, and those of the live ones that are)
  int64_t sharedPages = 0; ///< referenced more than once
  int64_t liveRequests = 0;
  int64_t liveTokens = 0; ///< computed tokens of live requests, each page's tokens counted once

  // Look-ups at admission, in tokens (prefix_cache_queries and _hits), pages and requests.
  int64_t lookups = 0;
  int64_t lookupsWithHit = 0;
  int64_t queriedTokens = 0;
  int64_t hitTokens = 0;
  int64_t queriedPages = 0;     ///< full pages of the prompts
  int64_t hitPages = 0;         ///< whole pages reused
  int64_t partialHitTokens = 0; ///< of hitTokens, those inside a page that was copied
  std::array<int64_t, kNumMissReasons> missedTokens{}; ///< by MissReason
  // The same tokens for re-admissions (after a preemption): never part of a hit rate.
  int64_t resumedQueriedTokens = 0;
  int64_t resumedHitTokens = 0;

  // What was done.
  int64_t allocations = 0;
  int64_t frees = 0; ///< returned to the free list (evictions included)
  int64_t evictions = 0;
  int64_t expirations = 0;      ///< evicted because their time to live was over
  int64_t pagesStored = 0;      ///< became findable
  int64_t duplicatesMerged = 0; ///< pages given back because an equal one was findable first
  int64_t copiesOnWrite = 0;
  int64_t copiesOnHit = 0; ///< partial hits
  int64_t forks = 0;
  int64_t admissions = 0;
  int64_t admissionFailures = 0; ///< refused for want of pages
  int64_t reserveFailures = 0;
  int64_t finished = 0;
  int64_t aborted = 0;
  int64_t preempted = 0;
  int64_t computedTokens = 0; ///< tokens marked as computed, recomputation included
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_KVCOUNTERS_H
