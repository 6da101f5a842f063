//===- ReuseLedgerTest.cpp - each token has one source --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReuseLedger.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

// Spans of 8: [1 2] then [1 2 3] of 24 tokens, of which 16 were seen before.
Trace twoPrompts() {
  return traceOf(R"({"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 1, "input_length": 24, "output_length": 1, "hash_ids": [1, 2, 3]}
)");
}

TEST(ReuseLedger, WhatWasComputedAndIsGoneWasEvicted) {
  Trace trace = twoPrompts();
  ReuseLedger ledger(trace, 4, true);
  ledger.admit(0, 0);
  ledger.markComputed(0, 16);
  PromptSources sources = ledger.admit(1, 4);
  EXPECT_EQ(sources.reused, 4u);
  EXPECT_EQ(sources.evicted, 12u);
  EXPECT_EQ(sources.cold, 8u);
  EXPECT_EQ(sources.total(), 24u);
}

TEST(ReuseLedger, WhatIsNotYetComputedIsInFlight) {
  Trace trace = twoPrompts();
  ReuseLedger ledger(trace, 4, true);
  ledger.admit(0, 0);
  ledger.markComputed(0, 12); // span 1 and half of span 2
  PromptSources sources = ledger.admit(1, 8);
  EXPECT_EQ(sources.reused, 8u);
  EXPECT_EQ(sources.inFlight, 8u);
  EXPECT_EQ(sources.cold, 8u);
}

TEST(ReuseLedger, LessThanAPageIsNotEviction) {
  Trace trace = twoPrompts();
  ReuseLedger ledger(trace, 12, true);
  ledger.admit(0, 0);
  ledger.markComputed(0, 16);
  PromptSources sources = ledger.admit(1, 12); // a page of 12; 4 tokens are left of 16
  EXPECT_EQ(sources.subPage, 4u);
  EXPECT_EQ(sources.evicted, 0u);
}

TEST(ReuseLedger, PromptsWithoutIdsAreCold) {
  Trace trace = traceOf(R"({"timestamp": 0, "input_length": 16, "output_length": 1})");
  ReuseLedger ledger(trace, 4, true);
  PromptSources sources = ledger.admit(0, 0);
  EXPECT_EQ(sources.cold, 16u);
  EXPECT_EQ(sources.total(), 16u);
}

} // namespace
