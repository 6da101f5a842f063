//===- TraceTest.cpp - what is read, and what is refused ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sha256.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

std::string messageOf(const std::string &text, TraceOptions options = {}) {
  auto trace = parseTrace(text, "t", options);
  return trace ? "" : trace.error().message();
}

TEST(Trace, ReadsAzureLengths) {
  Trace trace = expectValue(parseTrace("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                       "2023-11-16 23:59:59.5000000,374,44\r\n"
                                       "2023-11-17 00:00:01.2500000,396,109",
                                       "azure.csv", {}));
  EXPECT_EQ(trace.format, "azure");
  EXPECT_FALSE(trace.hasSpans);
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_NEAR(trace.requests[1].arrival, 1.75, 1e-6);
  EXPECT_EQ(trace.promptTokens(), 770u);
  EXPECT_EQ(trace.outputTokens(), 153u);
}

TEST(Trace, NamesFileLineAndReason) {
  std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  EXPECT_EQ(messageOf(head + "2023-11-16 18:15:46.68,374"),
            "t:2: expects TIMESTAMP,ContextTokens,GeneratedTokens, got 2 fields (--skip-bad leaves "
            "bad lines out)");
  EXPECT_NE(messageOf(head + "yesterday,1,2").find("t:2: expects a time"), std::string::npos);
  EXPECT_NE(messageOf(head + "2023-11-16 18:15:46.68,0,2")
                .find("expects 1 to 16777216 prompt tokens, got 0"),
            std::string::npos);
  EXPECT_NE(messageOf(head + "2023-11-16 18:15:46.68,x,2").find("expects two token counts"),
            std::string::npos);
  EXPECT_NE(messageOf("a,b\n1,2").find("t:1: expects a csv"), std::string::npos);
  EXPECT_NE(messageOf("").find("t:1: expects a csv"), std::string::npos);
  EXPECT_NE(messageOf(head).find("expects at least one request, got none"), std::string::npos);
}

TEST(Trace, RefusesWrongMooncakeFields) {
  auto line = [](const char *fields) { return messageOf(std::string("{") + fields + "}"); };
  EXPECT_NE(line(R"("timestamp": "x", "input_length": 1, "output_length": 1)")
                .find("t:1: expects a number \"timestamp\", got \"x\""),
            std::string::npos);
  EXPECT_NE(line(R"("timestamp": 0, "input_length": -1, "output_length": 1)")
                .find("expects a token count \"input_length\", got -1"),
            std::string::npos);
  EXPECT_NE(line(R"("timestamp": 0, "input_length": 513, "output_length": 1, "hash_ids": [1])")
                .find("expects 2 hash ids for 513 prompt tokens in spans of 512, got 1"),
            std::string::npos);
  EXPECT_NE(line(R"("timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [-1])")
                .find("expects hash ids to be integers from 0, got -1"),
            std::string::npos);
  EXPECT_NE(line(R"("timestamp": 1e999, "input_length": 1, "output_length": 1)"), "");
}

TEST(Trace, SkipsBadLinesOnlyWhenAsked) {
  TraceOptions options;
  options.spanTokens = 8;
  EXPECT_FALSE(readTrace(inputPath("bad.jsonl"), options));
  options.skipBad = true;
  Trace trace = expectValue(readTrace(inputPath("bad.jsonl"), options));
  EXPECT_EQ(trace.requests.size(), 2u);
  ASSERT_EQ(trace.skipped.size(), 2u);
  EXPECT_EQ(trace.skipped[0].line, 2u);
  EXPECT_EQ(trace.skipped[1].line, 3u);
  EXPECT_NE(trace.skipped[1].reason.find("expects 2 hash ids"), std::string::npos);
}

TEST(Trace, ScalesAndJittersArrivals) {
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += R"({"timestamp": )" + std::to_string(i / 10 * 3000) +
             R"(, "input_length": 1, "output_length": 1})"
             "\n";
  TraceOptions options;
  options.timeScale = 2;
  Trace scaled = expectValue(parseTrace(lines, "t", options));
  EXPECT_NEAR(scaled.duration(), 54, 1e-9);
  options.jitter = 3;
  Trace jittered = expectValue(parseTrace(lines, "t", options));
  Trace again = expectValue(parseTrace(lines, "t", options));
  bool differs = false;
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(jittered.requests[i].arrival, again.requests[i].arrival);
    EXPECT_GE(jittered.requests[i].arrival, scaled.requests[i].arrival);
    EXPECT_LT(jittered.requests[i].arrival, scaled.requests[i].arrival + 3);
    differs |= jittered.requests[i].arrival != scaled.requests[i].arrival;
    if (i) {
      EXPECT_GE(jittered.requests[i].arrival, jittered.requests[i - 1].arrival);
    }
  }
  EXPECT_TRUE(differs);
}

TEST(Trace, RefusesOptionsOutOfRange) {
  EXPECT_NE(messageOf("{}", {.timeScale = 0}).find("a number above 0"), std::string::npos);
  EXPECT_NE(messageOf("{}", {.jitter = -1}).find("a number from 0"), std::string::npos);
  EXPECT_NE(messageOf("{}", {.spanTokens = 0}).find("at least 1 token"), std::string::npos);
}

TEST(Trace, HashIsSha256) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

} // namespace
