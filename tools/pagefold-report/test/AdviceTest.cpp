//===- AdviceTest.cpp - which page size, and why --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisePageSize.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

TEST(Advice, PricesEverySizeOverTheSameMemory) {
  ReplayOptions options;
  options.poolPages = 512; // of 4 tokens: 4 pages of 512
  PageSizeAdvice advice =
      expectValue(advisePageSize(syntheticTrace(), {tenMillisecondSteps()}, options));
  ASSERT_EQ(advice.rows.size(), 10u);
  EXPECT_EQ(advice.rows.front().pageSize, 1u);
  EXPECT_EQ(advice.rows.back().pageSize, 512u);
  // 18, 17 and 17 tokens at their end.
  EXPECT_NEAR(advice.rows[0].tailWaste, 0, 1e-12);
  EXPECT_NEAR(advice.rows[2].tailWaste, 1 - 52.0 / 60, 1e-12);
  EXPECT_NEAR(advice.rows[4].tailWaste, 1 - 52.0 / 96, 1e-12);
  // Shared prefixes of 8 and 15 tokens.
  EXPECT_NEAR(advice.rows[1].lostReuse, 1.0 / 48, 1e-12);  // pages of 2
  EXPECT_NEAR(advice.rows[3].lostReuse, 7.0 / 48, 1e-12);  // pages of 8
  EXPECT_NEAR(advice.rows[4].lostReuse, 23.0 / 48, 1e-12); // pages of 16
  EXPECT_EQ(advice.rows[0].tableEntries, 16u);
  EXPECT_EQ(advice.rows[9].tableEntries, 1u);
  EXPECT_EQ(advice.rows[9].oneBoxShare, 1);
  EXPECT_EQ(advice.recommended, 1u); // pages of 2 lose 2.1 % of reuse already
  EXPECT_NE(advice.reason.find("pages of 2 lose"), std::string::npos) << advice.reason;
}

TEST(Advice, LongPromptsTakeLargerPages) {
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += R"({"timestamp": )" + std::to_string(i * 100) +
             R"(, "input_length": 8192, "output_length": 1})"
             "\n";
  ReplayOptions options;
  options.poolPages = 65536;
  PageSizeAdvice advice =
      expectValue(advisePageSize(traceOf(lines), {tenMillisecondSteps()}, options));
  EXPECT_EQ(advice.recommended, 64u); // a tile: larger pages gain nothing
}

TEST(Advice, SizesThatThePoolCannotHoldAreLeftOut) {
  ReplayOptions options;
  options.poolPages = 16; // of 4 tokens: no page of 128
  PageSizeAdvice advice =
      expectValue(advisePageSize(syntheticTrace(), {tenMillisecondSteps()}, options));
  EXPECT_EQ(advice.rows.back().pageSize, 64u);
}

} // namespace
