//===- HitRates.h - what any cache could reuse of a trace -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reuse that is in a trace, before any scheduling: each prompt is looked up and inserted the
// moment it arrives, nothing is pinned, and the cache holds so many spans. This is how the
// Mooncake paper counts, so that its figures can be checked; a served trace reuses less, because
// a page is there only once it is computed, and stays only while no live request needs the room.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_HITRATES_H
#define PAGEFOLD_REPORT_HITRATES_H

#include "Trace.h"

#include <vector>

namespace pagefold::report {

enum class Eviction {
  LeastRecent,   ///< the span not asked for the longest
  LeastFrequent, ///< the span asked for least since it came in; ties: the least recent
};

struct HitRate {
  double tokens = 0;   ///< reused prompt tokens / all
  double spans = 0;    ///< spans found / all
  double requests = 0; ///< mean over requests of reused / prompt tokens
};

/// Capacity in spans, 0 for one that holds everything. Hits are the contiguous prefix, and at
/// most the prompt less one token: the last one is always computed.
HitRate hitRate(const Trace &trace, Eviction policy, size_t capacity);

/// The token hit rate of an infinite cache that finds prefixes only in multiples of `granule`
/// tokens. Needs a granule that is a multiple of the trace's span: finer reuse is not recorded.
double hitRateAtGranule(const Trace &trace, uint32_t granule);

/// For each request, the leading prompt tokens that some earlier request had too, at most the
/// prompt less one.
std::vector<uint32_t> infiniteCacheHits(const Trace &trace);

/// Spans of the trace that differ.
size_t distinctSpans(const Trace &trace);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_HITRATES_H
