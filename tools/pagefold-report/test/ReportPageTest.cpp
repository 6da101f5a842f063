//===- ReportPageTest.cpp - the page, the JSON, the HTML ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportHtml.h"
#include "ReportJson.h"
#include "ReportText.h"

#include "Compare.h"
#include "File.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

Report syntheticReport() {
  TraceOptions options;
  options.spanTokens = 8;
  return expectValue(makeReport({syntheticTrace(), options, tenMillisecondSteps(), {}, {}, 3}));
}

// To renew it after a wanted change: PAGEFOLD_RENEW_GOLDEN=1, run, and read the difference.
TEST(ReportPage, TextIsTheGoldenPage) {
  std::string path = std::string(PAGEFOLD_REPORT_TESTS) + "/golden/synthetic.txt";
  std::string page = toText(syntheticReport());
  if (std::getenv("PAGEFOLD_RENEW_GOLDEN")) {
    ASSERT_TRUE(writeFile(path, page));
  }
  EXPECT_EQ(page, expectValue(readFile(path)));
}

TEST(ReportPage, TextFitsATerminal) {
  std::string page = toText(syntheticReport());
  for (size_t begin = 0; begin < page.size();) {
    size_t end = page.find('\n', begin);
    EXPECT_LE(end - begin, 110u) << page.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(ReportPage, JsonHasTheNamesOthersUse) {
  nlohmann::ordered_json json = toJson(syntheticReport());
  EXPECT_EQ(json["label"], "simulated");
  EXPECT_NEAR(json["mean_ttft_ms"].get<double>(), 10, 1e-6);
  for (const char *metric : {"ttft", "tpot", "itl", "e2el"})
    for (const char *statistic : {"mean", "median", "std", "p95", "p99"}) {
      std::string key = std::string(statistic) + "_" + metric + "_ms";
      EXPECT_TRUE(json.contains(key)) << key;
    }
  for (const char *key : {"request_throughput", "request_goodput", "output_throughput",
                          "total_token_throughput", "max_concurrent_requests"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["prometheus"]["prefix_cache_queries"], 48);
  EXPECT_EQ(json["prometheus"]["prefix_cache_hits"], 23);
  EXPECT_EQ(json["prometheus"]["num_preemptions"], 0);
  EXPECT_EQ(json["prometheus"]["iteration_tokens_total"], 26);
  EXPECT_EQ(json["prometheus"]["request_queue_time_seconds"]["count"], 3);
  EXPECT_EQ(json["pool"]["allocated"], 8);
  EXPECT_EQ(json["pool"]["freed"], 1);
  EXPECT_EQ(json["pool"]["held"], 7);
  EXPECT_EQ(json["provenance"]["trace"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(json["provenance"]["decode_attention_time"], "roofline of instant");
}

TEST(ReportPage, UnknownReuseIsNotZero) {
  Trace trace = traceOf(R"({"timestamp": 0, "input_length": 8, "output_length": 1})");
  Report report = expectValue(makeReport({trace, {}, tenMillisecondSteps(), {}, {}, 0}));
  nlohmann::ordered_json json = toJson(report);
  EXPECT_EQ(json["reuse"]["known"], false);
  EXPECT_FALSE(json["reuse"].contains("hit_rate_tokens"));
  EXPECT_NE(toText(report).find("hit rate      n/a"), std::string::npos);
  EXPECT_NE(toHtml(report).find("n/a: the trace does not tell"), std::string::npos);
}

TEST(ReportPage, PrometheusIsExposition) {
  std::string text = toPrometheus(syntheticReport());
  EXPECT_NE(text.find("# TYPE num_preemptions counter\nnum_preemptions 0\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE num_requests_running gauge\n"), std::string::npos);
  EXPECT_NE(text.find("request_prefill_time_seconds_bucket{le=\"+Inf\"} 3\n"), std::string::npos);
}

TEST(ReportPage, HtmlNeedsNoNetwork) {
  std::string html = toHtml(syntheticReport());
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  for (const char *notANumber : {"\"nan", ",nan", ">nan", "Lnan", "Mnan", "-nan", "inf,"})
    EXPECT_EQ(html.find(notANumber), std::string::npos) << notANumber;
  EXPECT_NE(html.find("SIMULATED"), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("</html>"), std::string::npos);
}

} // namespace
