//===- Trace.h - requests read from a file ----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace is what users did: when each request arrived, how long its prompt and its output were
// and, where the recording has them, which prompts begin alike. Two public formats are read:
//
//   Azure (csv)      TIMESTAMP,ContextTokens,GeneratedTokens      lengths only: reuse is unknown
//   Mooncake (jsonl) {"timestamp": ms, "input_length": n, "output_length": m, "hash_ids": [...]}
//
// A hash id names a *span* of the prompt (512 tokens, the last one shorter): equal ids mean equal
// tokens up to and including that span. Spans are the trace's, pages are the cache's; neither
// need divide the other, but reuse shorter than a span cannot be seen in such a trace.
// A jsonl line may also name its "tenant" and its "adapter", which never share pages.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_TRACE_H
#define PAGEFOLD_REPORT_TRACE_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pagefold::report {

using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

struct TraceRequest {
  double arrival = 0; ///< seconds after the first request of the trace
  size_t line = 0;    ///< of the file, from 1; orders equal arrivals
  uint32_t promptTokens = 0;
  uint32_t outputTokens = 0;
  std::vector<uint64_t> spans; ///< ceil(promptTokens / spanTokens) ids, or none
  uint32_t tenant = 0;         ///< index into Trace::tenants
  uint32_t adapter = 0;        ///< index into Trace::adapters
};

/// A line that was left out, and why.
struct SkippedLine {
  size_t line; ///< from 1
  std::string reason;
};

struct Trace {
  std::string name;   ///< the file's name, without its folder
  std::string format; ///< "azure" or "mooncake"
  std::string sha256; ///< of the whole file, before any option
  uint32_t spanTokens = 512;
  bool hasSpans = false;              ///< false: reuse is unknown, and is never reported as 0 %
  std::vector<TraceRequest> requests; ///< by arrival
  std::vector<std::string> tenants;   ///< at least one; "" is the trace that names none
  std::vector<std::string> adapters;
  std::vector<SkippedLine> skipped;

  /// Seconds from the first to the last arrival.
  double duration() const { return requests.empty() ? 0 : requests.back().arrival; }
  uint64_t promptTokens() const;
  uint64_t outputTokens() const;
};

struct TraceOptions {
  bool skipBad = false;      ///< leave bad lines out instead of failing at the first
  double timeScale = 1;      ///< arrival times are multiplied by it: 2 halves the load
  double jitter = 0;         ///< seconds; a uniform [0, jitter) is added to every arrival
  uint64_t seed = 1;         ///< of the jitter
  size_t limit = 0;          ///< the first so many requests; 0 for all
  uint32_t spanTokens = 512; ///< tokens a hash id stands for
};

/// Reads a trace file. Fails with "file:line: reason" at the first bad line, unless it is to be
/// left out, and when no request is left.
Result<Trace> readTrace(const std::string &path, const TraceOptions &options);

/// The same from memory; `name` stands for the path in messages.
Result<Trace> parseTrace(std::string_view text, const std::string &name,
                         const TraceOptions &options);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_TRACE_H
