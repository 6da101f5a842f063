//===- Synthetic.h - a service small enough to work out by hand -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_TEST_SYNTHETIC_H
#define PAGEFOLD_REPORT_TEST_SYNTHETIC_H

#include "Replay.h"

#include <gtest/gtest.h>
#include <string>

namespace pagefold::report::test {

inline std::string inputPath(const char *name) {
  return std::string(PAGEFOLD_REPORT_TESTS) + "/inputs/" + name;
}

/// The value, or a failed test with the error's sentence.
template <typename T> T expectValue(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  if (!result)
    std::abort();
  return std::move(*result);
}

/// Spans of 8 tokens.
inline Trace traceOf(const std::string &lines) {
  TraceOptions options;
  options.spanTokens = 8;
  return expectValue(parseTrace(lines, "test.jsonl", options));
}

/// Three prompts of 16 tokens, 1 s apart: [1 2], [1 3], [1 2].
inline Trace syntheticTrace() {
  TraceOptions options;
  options.spanTokens = 8;
  return expectValue(readTrace(inputPath("synthetic.jsonl"), options));
}

/// Pages of 4 tokens, 16 of them, on a device so fast that every step takes 10 ms, all overhead.
inline CostModel tenMillisecondSteps() {
  Device device;
  device.name = "instant";
  device.flops16 = device.flops8 = device.bandwidth = 1e21;
  device.memory = 1e9;
  device.reserve = 0;
  device.overhead = 0.010;
  return CostModel(expectValue(readModel(inputPath("tiny.json"))), device);
}

} // namespace pagefold::report::test

#endif // PAGEFOLD_REPORT_TEST_SYNTHETIC_H
