//===- FormatTest.cpp - numbers, percentiles, axes ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "LogHistogram.h"
#include "Statistics.h"
#include "SvgPlot.h"
#include "TextTable.h"
#include "TimeSeries.h"

#include <gtest/gtest.h>

using namespace pagefold::report;

namespace {

TEST(Format, NumbersForPeople) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(0.00000123), "1.23 us");
  EXPECT_EQ(duration(0.00123), "1.23 ms");
  EXPECT_EQ(duration(0.0123), "12.3 ms");
  EXPECT_EQ(duration(0.123), "123 ms");
  EXPECT_EQ(duration(1.234), "1.23 s");
  EXPECT_EQ(duration(1234.5), "1,235 s");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(percent(0.1234), "12.3 %");
  EXPECT_EQ(signedPercent(0.1), "+10.0 %");
  EXPECT_EQ(signedPercent(-0.0001), "+0.0 %");
  EXPECT_EQ(bytes(131072), "128 KiB");
  EXPECT_EQ(bytes(100), "100 B");
}

// numpy.percentile([1, 2, 3, 4], [50, 95, 99]) is [2.5, 3.85, 3.97].
TEST(Statistics, PercentilesInterpolateLinearly) {
  Summary summary = summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.p95, 3.85);
  EXPECT_DOUBLE_EQ(summary.p99, 3.97);
  EXPECT_DOUBLE_EQ(summary.max, 4);
  EXPECT_NEAR(summary.deviation, 1.118034, 1e-6);
  EXPECT_EQ(summarize({}).count, 0u);
  EXPECT_DOUBLE_EQ(slope({0, 1, 2}, {1, 3, 5}), 2);
  EXPECT_DOUBLE_EQ(slope({1, 1}, {1, 3}), 0);
}

TEST(LogHistogram, QuantilesAreWithinABucket) {
  LogHistogram histogram;
  for (int i = 1; i <= 1000; ++i)
    histogram.add(i * 0.01);
  EXPECT_NEAR(histogram.quantile(0.5), 5, 5 * 0.13);
  EXPECT_NEAR(histogram.quantile(0.99), 9.9, 9.9 * 0.13);
  EXPECT_NEAR(histogram.mean(), 5.005, 1e-9);
  histogram.add(0);
  histogram.add(1e9);
  EXPECT_EQ(histogram.count(), 1002u);
  EXPECT_EQ(LogHistogram().quantile(0.5), 0);
}

TEST(TimeSeries, MergesBinsAndKeepsSums) {
  TimeSeries series;
  Levels levels;
  levels.livePages = 3;
  for (int i = 0; i < 1000; ++i)
    series.addStep(i, 0.5, levels, 2, 1);
  EXPECT_LE(series.bins().size(), TimeSeries::maxBins);
  double time = 0, live = 0;
  uint64_t prefill = 0;
  for (const TimeBin &bin : series.bins()) {
    time += bin.time;
    live += bin.integral.livePages;
    prefill += bin.prefillTokens;
    EXPECT_EQ(bin.maxLivePages, 3);
  }
  EXPECT_NEAR(time, 500, 1e-9);
  EXPECT_NEAR(live, 1500, 1e-9);
  EXPECT_EQ(prefill, 2000u);
}

TEST(TextTable, AlignsByWhatIsSeen) {
  TextTable table({"name", "µs"});
  table.add({"a", "10"});
  table.add({"bcdef"});
  EXPECT_EQ(table.text(1), " name   µs\n a      10\n bcdef\n");
}

TEST(SvgPlot, TicksAreRound) {
  EXPECT_EQ(axisTicks(10), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axisTicks(3784).back(), 4000);
  EXPECT_EQ(axisTicks(0), axisTicks(1));
}

TEST(SvgPlot, EscapesNamesAndSurvivesNoData) {
  LineChart chart;
  chart.title = "a < b & \"c\"";
  chart.series = {{"nothing", {}}};
  std::string svg = toSvg(chart);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  chart.series = {{"a point", {{5, 5}}}};
  EXPECT_EQ(toSvg(chart).find("nan"), std::string::npos);
  EXPECT_EQ(toSvg(BarChart{"none", {}}).find("nan"), std::string::npos);
}

} // namespace
