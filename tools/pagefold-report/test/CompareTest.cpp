//===- CompareTest.cpp - two reports in one table -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "ReportJson.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

nlohmann::ordered_json jsonOf(bool prefixCaching) {
  ReplayOptions options;
  options.prefixCaching = prefixCaching;
  return toJson(
      expectValue(makeReport({syntheticTrace(), {}, tenMillisecondSteps(), options, {}, 0})));
}

TEST(Compare, SaysWhatChangedAndWhatItDid) {
  std::string text = expectValue(compare(jsonOf(false), jsonOf(true)));
  EXPECT_EQ(text.find("changed: serving.prefix_caching false -> true\n"), 0u) << text;
  EXPECT_NE(text.find("hit rate (tokens)"), std::string::npos);
  EXPECT_NE(text.find("+47.92 pt"), std::string::npos) << text; // 23 of 48
  EXPECT_NE(text.find("helped: hit rate (tokens) +47.92 pt"), std::string::npos) << text;
  EXPECT_EQ(text.find("NOTE"), std::string::npos);
}

TEST(Compare, TheSameReportDiffersInNothing) {
  std::string text = expectValue(compare(jsonOf(true), jsonOf(true)));
  EXPECT_EQ(text.find("changed: nothing\n"), 0u);
  EXPECT_NE(text.find("helped: nothing\ncost:   nothing"), std::string::npos) << text;
}

TEST(Compare, WarnsOfDifferentTraces) {
  nlohmann::ordered_json other = jsonOf(true);
  other["provenance"]["trace"]["sha256"] = "0";
  EXPECT_NE(
      expectValue(compare(jsonOf(true), other)).find("NOTE: the two are not about the same trace"),
      std::string::npos);
}

TEST(Compare, RefusesWhatIsNoReport) {
  nlohmann::ordered_json report = jsonOf(true);
  EXPECT_FALSE(compare(report, nlohmann::ordered_json::array()));
  EXPECT_FALSE(compare({{"format", 3}}, report));
  nlohmann::ordered_json future = report;
  future["version"] = 99;
  auto result = compare(report, future);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("expects the second file to be a report"),
            std::string::npos);
  // Numbers that are not there, or are no numbers, are n/a.
  nlohmann::ordered_json broken = report;
  broken["mean_ttft_ms"] = "fast";
  EXPECT_NE(expectValue(compare(report, broken)).find("n/a"), std::string::npos);
}

} // namespace
