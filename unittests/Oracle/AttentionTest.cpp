//===- AttentionTest.cpp - the oracle's attention, by hand ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases are numbered as the project's list of reported failures numbers them. Most use Q = 0, which
// makes every visible key weigh the same, and values that trace which keys were seen.
//
//===----------------------------------------------------------------------===//

#include "OracleFixture.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::oracle;

namespace {
class Attention : public OracleTest {
protected:
  /// Expects row `token` of head 0 to see exactly the keys [low, high) of a tracer.
  static void expectVisible(const Evaluation &evaluation, int64_t token, int64_t low,
                            int64_t high) {
    const Array &out = evaluation.outputs[0].values, &lse = evaluation.outputs[1].values;
    double count = static_cast<double>(std::max<int64_t>(high - low, 0));
    for (int64_t d = 0; d < out.dim(2); ++d) {
      const int64_t index[] = {token, 0, d};
      EXPECT_DOUBLE_EQ(out.loadAt(out.offset(index)), low <= d && d < high ? 1 / count : 0)
          << "token " << token << ", key " << d;
    }
    EXPECT_DOUBLE_EQ(lse.loadAt(token * lse.dim(1)), std::log(count)) << "token " << token;
  }
};
} // namespace

// Twenty-four keys of one head; all scores are 0.
static const int64_t kKeys = 24;

TEST_F(Attention, WeighsByTheExponentialOfTheScaledProduct) {
  Dense input = tracer({1}, {2}, 1, 8, 8);
  input.query = filled(DType::F32, {1, 1, 8}, [](int64_t d) { return d == 3 ? 2 : 0; });
  input.key = filled(DType::F32, {2, 1, 8}, [](int64_t i) {
    return i == 3 ? 0.5 : i == 11 ? -1 : 7 * (i % 8 != 3);
  });
  Evaluation got = run(dense(1, 1, 8, ""), input.arguments()); // scores 1 and -2
  double a = std::exp(1.0), b = std::exp(-2.0);
  EXPECT_DOUBLE_EQ(got.outputs[0].values.loadAt(0), a / (a + b));
  EXPECT_DOUBLE_EQ(got.outputs[0].values.loadAt(1), b / (a + b));
  EXPECT_DOUBLE_EQ(got.outputs[1].values.loadAt(0), std::log(a + b));
  EXPECT_EQ(got.outputs[0].requests->maxScores, std::vector<double>{2});
  EXPECT_EQ(got.outputs[0].requests->kvLens, std::vector<int64_t>{2});
}

TEST_F(Attention, A14_QueryHeadReadsItsGroupsKVHead) {
  Dense input = tracer({2}, {5}, 2, 8, 8);
  input.query = noise(DType::F32, {2, 10, 8}, 3);
  input.value = filled(DType::F32, {5, 2, 8}, [](int64_t i) { return 1 + (i / 8) % 2; });
  Evaluation got = run(dense(10, 2, 8, ""), input.arguments());
  for (int64_t token = 0; token < 2; ++token)
    for (int64_t head = 0; head < 10; ++head)
      EXPECT_DOUBLE_EQ(got.outputs[0].values.loadAt((token * 10 + head) * 8), head / 5 + 1);
}

TEST_F(Attention, A04_RowsWithNothingVisible) {
  // Rows 0, 4 and 8 of nine see nothing; all others see all keys.
  Dense input = tracer({9}, {kKeys}, 1, 8, kKeys);
  std::vector<Argument> arguments = input.arguments();
  arguments.push_back(filled(DType::I8, {9 * kKeys / 8},
                             [](int64_t byte) { return byte * 8 / kKeys % 4 == 0 ? 0 : -1; }));
  arguments.push_back(list(DType::I64, {0}));
  Evaluation got = run(dense(1, 1, kKeys, "bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)",
                             ", %bits: tensor<?xi8>, %starts: tensor<?xi64>"),
                       arguments);
  for (int64_t q = 0; q < 9; ++q)
    expectVisible(got, q, 0, q % 4 == 0 ? 0 : kKeys);
}

TEST_F(Attention, A04_BiasOfMinusInfinityAndOfTheLeastFloat) {
  auto biased = [&](const std::string &bias) {
    return run(dense(1, 1, kKeys,
                     "score(%s, %q0, %k0, %h, %b) {\n"
                     "  %bias = arith.constant " +
                         bias +
                         " : f32\n"
                         "  %four = arith.constant 4 : i32\n  %zero = arith.constant 0 : i32\n"
                         "  %m = arith.remsi %q0, %four : i32\n"
                         "  %c = arith.cmpi eq, %m, %zero : i32\n"
                         "  %sum = arith.addf %s, %bias : f32\n"
                         "  %r = arith.select %c, %sum, %s : f32\n"
                         "  attn.yield %r : f32\n}"),
               tracer({9}, {kKeys}, 1, 8, kKeys).arguments());
  };
  Evaluation infinite = biased("0xFF800000"), least = biased("-3.4028234663852886E+38");
  for (int64_t q = 0; q < 9; ++q) {
    expectVisible(infinite, q, 0, q % 4 == 0 ? 0 : kKeys);
    // A finite bias absorbs the score: the plain mean, and a huge negative log-sum-exp.
    EXPECT_DOUBLE_EQ(least.outputs[0].values.loadAt(q * kKeys), 1.0 / kKeys);
  }
  EXPECT_LT(least.outputs[1].values.loadAt(0), -3e38);
}

TEST_F(Attention, A19_CausalIsBottomRight) {
  const std::pair<int64_t, int64_t> shapes[] = {{2, 5},   {5, 2},   {1, 128}, {3, 128},
                                                {128, 3}, {64, 64}, {65, 64}};
  std::vector<int64_t> qLens, kvLens;
  for (auto [q, k] : shapes) {
    qLens.push_back(q);
    kvLens.push_back(k);
    Evaluation got =
        run(dense(1, 1, 128, "mask <causal>"), tracer({q}, {k}, 1, 8, 128).arguments());
    for (int64_t i = 0; i < q; ++i)
      expectVisible(got, i, 0, std::max<int64_t>(i + k - q + 1, 0));
  }
  // All of them as one ragged batch.
  Evaluation got =
      run(dense(1, 1, 128, "mask <causal>"), tracer(qLens, kvLens, 1, 8, 128).arguments());
  int64_t token = 0;
  for (auto [q, k] : shapes)
    for (int64_t i = 0; i < q; ++i)
      expectVisible(got, token++, 0, std::max<int64_t>(i + k - q + 1, 0));
}

TEST_F(Attention, A20_WindowCountsTheCurrentToken) {
  for (int64_t window : {1, 8, 40, 100})
    for (int64_t qLen : {40, 5, 1}) {
      Evaluation got =
          run(dense(1, 1, 40, "mask <causal and window(" + std::to_string(window) + ")>"),
              tracer({qLen}, {40}, 1, 8, 40).arguments());
      for (int64_t q = 0; q < qLen; ++q) {
        int64_t position = 40 - qLen + q;
        expectVisible(got, q, std::max<int64_t>(0, position - window + 1), position + 1);
      }
    }
}

TEST_F(Attention, A20_WindowFromAnOperand) {
  std::string text =
      dense(1, 1, 40, "mask <causal and window(w) where w >= 1> symbols(%w : tensor<?xi32>)",
            ", %w: tensor<?xi32>");
  std::vector<Argument> arguments = tracer({1, 1}, {40, 10}, 1, 8, 40).arguments();
  arguments.push_back(list(DType::I32, {8, 3}));
  Evaluation got = run(text, arguments);
  expectVisible(got, 0, 32, 40);
  expectVisible(got, 1, 7, 10);
  arguments.back() = list(DType::I32, {8, 0});
  std::string message = error(text, arguments);
  EXPECT_NE(message.find("request 1 expects w of at least 1"), std::string::npos) << message;
}

TEST_F(Attention, UnionsAndResiduesOfMasks) {
  // Sinks and a window are two ranges; a residue is a pattern.
  Evaluation sinks = run(dense(1, 1, 40, "mask <sink_window(4, 8) and causal>"),
                         tracer({1}, {40}, 1, 8, 40).arguments());
  Evaluation strided = run(dense(1, 1, 40, "mask <k mod 3 == 1 and k <= q + kv_len - q_len>"),
                           tracer({2}, {40}, 1, 8, 40).arguments());
  for (int64_t k = 0; k < 40; ++k) {
    EXPECT_EQ(sinks.outputs[0].values.loadAt(k) != 0, k < 4 || k >= 32) << k;
    EXPECT_EQ(strided.outputs[0].values.loadAt(k) != 0, k % 3 == 1 && k <= 38) << k;
  }
}

TEST_F(Attention, RowValuesKeepDocumentsApart) {
  // Two documents in each request: rows of the second see nothing of the first.
  std::vector<Argument> arguments = tracer({4, 3}, {4, 3}, 1, 8, 16).arguments();
  arguments.push_back(list(DType::I32, {0, 0, 2, 2, 0, 1, 1}));
  std::string text =
      dense(1, 1, 16,
            "mask <causal and k >= start where start per_row> row_values(%start : tensor<?xi32>)",
            ", %start: tensor<?xi32>");
  Evaluation got = run(text, arguments);
  const int64_t low[] = {0, 0, 2, 2, 0, 1, 1}, high[] = {1, 2, 3, 4, 1, 2, 3};
  for (int64_t token = 0; token < 7; ++token)
    expectVisible(got, token, low[token], high[token]);
  arguments.back() = list(DType::I32, {0, 0, 2});
  EXPECT_NE(error(text, arguments).find("row values for 7 tokens, got 3"), std::string::npos);
}

TEST_F(Attention, A22_NonCausalSeesEveryKeyAndNoMore) {
  for (int64_t length : {1, 17, 40}) {
    Evaluation got = run(dense(1, 1, 40, ""), tracer({3}, {length}, 1, 8, 40).arguments());
    for (int64_t q = 0; q < 3; ++q)
      expectVisible(got, q, 0, length);
  }
}

/// s' = c tanh(s / c).
static std::string softCap(const std::string &cap) {
  return "score(%s, %q0, %k0, %h, %b) {\n  %c = arith.constant " + cap +
         " : f32\n  %x = arith.divf %s, %c : f32\n  %t = math.tanh %x : f32\n  %r = arith.mulf %t, "
         "%c : f32\n"
         "  attn.yield %r : f32\n}";
}

TEST_F(Attention, A26_SoftCapStandsBeforeTheMask) {
  // One visible key with score -5 among 24: the mask comes after the cap, so that the others do not
  // leak.
  Dense input = tracer({1}, {kKeys}, 1, 8, kKeys);
  input.query = filled(DType::F32, {1, 1, 8}, [](int64_t d) { return d == 0 ? 1 : 0; });
  input.key = filled(DType::F32, {kKeys, 1, 8}, [](int64_t) { return -5; });
  Evaluation got = run(dense(1, 1, kKeys, "mask <k == 3> " + softCap("1.0")), input.arguments());
  for (int64_t d = 0; d < kKeys; ++d)
    EXPECT_EQ(got.outputs[0].values.loadAt(d), d == 3 ? 1 : 0);
  EXPECT_DOUBLE_EQ(got.outputs[1].values.loadAt(0), std::tanh(-5.0));
}

TEST_F(Attention, A26_SoftCapOfHugeScores) {
  Dense input = tracer({1}, {3}, 1, 8, 8);
  input.query = filled(DType::F32, {1, 1, 8}, [](int64_t d) { return d == 0 ? 1 : 0; });
  const double scores[] = {0, 200, 2000};
  input.key = filled(DType::F32, {3, 1, 8}, [&](int64_t i) { return scores[i / 8]; });
  Evaluation got = run(dense(1, 1, 8, softCap("50.0")), input.arguments());
  double capped[3], sum = 0;
  for (int i = 0; i < 3; ++i)
    sum += capped[i] = std::exp(50 * std::tanh(scores[i] / 50) - 50);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(got.outputs[0].values.loadAt(i), capped[i] / sum, 1e-15);
}

TEST_F(Attention, A29_SinkEntersTheDenominatorOnce) {
  const double sinks[] = {std::log(100.0), 0, -10, 80, -INFINITY};
  Dense input = tracer({1}, {100}, 5, 8, 8);
  input.value = filled(DType::F32, {100, 5, 8}, [](int64_t) { return 1; });
  std::vector<Argument> arguments = input.arguments();
  arguments.push_back(filled(DType::F32, {5}, [&](int64_t i) { return sinks[i]; }));
  Evaluation got =
      run(dense(5, 5, 8, "sinks(%sinks : tensor<5xf32>)", ", %sinks: tensor<5xf32>"), arguments);
  for (int64_t head = 0; head < 5; ++head) {
    double sink = std::exp(static_cast<double>(static_cast<float>(sinks[head])));
    EXPECT_NEAR(got.outputs[0].values.loadAt(head * 8), 100 / (100 + sink), 1e-14);
    EXPECT_NEAR(got.outputs[1].values.loadAt(head), std::log(100 + sink), 1e-13)
        << "lse holds the sink";
  }
  EXPECT_NEAR(got.outputs[0].values.loadAt(0), 0.5, 1e-7);
}

TEST_F(Attention, A29_NothingVisibleLeavesTheSink) {
  std::vector<Argument> arguments = tracer({1}, {0}, 1, 8, 8).arguments();
  arguments.push_back(list(DType::F32, {3}));
  Evaluation got =
      run(dense(1, 1, 8, "sinks(%sinks : tensor<1xf32>)", ", %sinks: tensor<1xf32>"), arguments);
  EXPECT_EQ(elements(got.outputs[0].values), std::vector<double>(8, 0));
  EXPECT_EQ(got.outputs[1].values.loadAt(0), 3);
}

/// Caller-given slopes: s - m (p - k).
static const char kAlibi[] =
    "score(%s, %q0, %k0, %h, %b, %table = %slopes : tensor<12xf32>) {\n"
    "  %m = attn.lookup %table[%h] : tensor<12xf32> -> f32\n"
    "  %p = attn.position %q0\n  %d = arith.subi %p, %k0 : i32\n"
    "  %f = arith.sitofp %d : i32 to f32\n  %bias = arith.mulf %m, %f : f32\n"
    "  %r = arith.subf %s, %bias : f32\n  attn.yield %r : f32\n}";

TEST_F(Attention, A31_AlibiOfTwelveHeads) {
  std::vector<double> slopes;
  for (int i = 0; i < 8; ++i)
    slopes.push_back(std::exp2(-(i + 1)));
  for (int i = 0; i < 4; ++i)
    slopes.push_back(std::exp2(-0.5 * (2 * i + 1)));
  std::vector<Argument> arguments = tracer({2}, {20}, 12, 8, 24).arguments();
  arguments.push_back(list(DType::F32, slopes));
  Evaluation got =
      run(dense(12, 12, 24, std::string("mask <causal> ") + kAlibi, ", %slopes: tensor<12xf32>"),
          arguments);
  for (int64_t q = 0; q < 2; ++q)
    for (int64_t head = 0; head < 12; ++head) {
      double m = static_cast<float>(slopes[head]), sum = 0;
      int64_t position = 18 + q;
      for (int64_t k = 0; k <= position; ++k)
        sum += std::exp(-m * static_cast<double>(position - k));
      for (int64_t k = 0; k <= position; ++k)
        EXPECT_NEAR(got.outputs[0].values.loadAt((q * 12 + head) * 24 + k),
                    std::exp(-m * static_cast<double>(position - k)) / sum, 1e-15);
    }
}

TEST_F(Attention, EpilogueSeesEveryElementAndTheTokenOfItsRow) {
  std::string epilogue =
      "epilogue(%o, %q0, %h, %d, %g = %gate : tensor<?x2x8xf32>) {\n  %t = attn.token %q0\n"
      "  %x = attn.lookup %g[%t, %h, %d] : tensor<?x2x8xf32> -> f32\n"
      "  %y = arith.addf %o, %x : f32\n  attn.yield %y : f32\n}";
  Dense input = tracer({1, 2}, {0, 3}, 2, 8, 8);
  input.value = filled(DType::F32, {3, 2, 8}, [](int64_t) { return 1; });
  std::vector<Argument> arguments = input.arguments();
  arguments.push_back(
      filled(DType::F32, {3, 2, 8}, [](int64_t i) { return static_cast<double>(i); }));
  Evaluation got = run(dense(2, 2, 8, epilogue, ", %gate: tensor<?x2x8xf32>"), arguments);
  for (int64_t i = 0; i < 48;
       ++i) // the first request sees nothing, and the epilogue adds to its zeros
    EXPECT_EQ(got.outputs[0].values.loadAt(i), (i < 16 ? 0 : 1) + static_cast<double>(i));
}

TEST_F(Attention, A03_NaNStaysInTheRowsThatSeeIt) {
  Dense clean = tracer({8, 8}, {10, 10}, 2, 8, 16);
  Dense hurt = clean;
  hurt.key = *clean.key.clone();
  const int64_t index[] = {10 + 6, 0, 2}; // request 1, key 6, head 0
  hurt.key.storeAt(hurt.key.offset(index), NAN);
  std::string text = dense(2, 2, 16, "mask <causal>");
  Evaluation want = run(text, clean.arguments()), got = run(text, hurt.arguments());
  for (int64_t token = 0; token < 16; ++token)
    for (int64_t head = 0; head < 2; ++head) {
      bool sees = token >= 8 && head == 0 && token - 8 + 2 >= 6;
      for (int64_t d = 0; d < 16; ++d) {
        double x = got.outputs[0].values.loadAt((token * 2 + head) * 16 + d);
        if (sees)
          EXPECT_TRUE(std::isnan(x));
        else
          EXPECT_EQ(x, want.outputs[0].values.loadAt((token * 2 + head) * 16 + d));
      }
    }
}

TEST_F(Attention, A07_EmptyRequestsAndEmptyBatches) {
  Evaluation got = run(dense(1, 1, 16, "mask <causal>"),
                       tracer({0, 1, 0, 1}, {3, 3, 5, 5}, 1, 8, 16).arguments());
  expectVisible(got, 0, 0, 3);
  expectVisible(got, 1, 0, 5);
  EXPECT_EQ(run(dense(1, 1, 16, ""), tracer({0, 0}, {0, 0}, 1, 8, 16).arguments())
                .outputs[0]
                .values.dim(0),
            0);
  EXPECT_EQ(run(dense(1, 1, 16, ""), tracer({}, {}, 1, 8, 16).arguments()).outputs[0].values.dim(0),
            0);
}

TEST_F(Attention, BadBatchesNameTheRequest) {
  std::string text = dense(1, 1, 16, "");
  Dense input = tracer({2, 2}, {3, 3}, 1, 8, 16);
  input.rows = list(DType::I32, {0, 3, 2});
  EXPECT_NE(error(text, input.arguments()).find("got 2 at index 2 (request 1)"), std::string::npos);
  input.rows = list(DType::I32, {0, 2, 5});
  EXPECT_NE(error(text, input.arguments()).find("stay in [0, 4], got 5"), std::string::npos);
  input.rows = list(DType::I32, {0, 4});
  EXPECT_NE(error(text, input.arguments()).find("as many kv_rows as rows, got 3 and 2"),
            std::string::npos);
}

TEST_F(Attention, A23_BitmapThatIsTooShort) {
  std::vector<Argument> arguments = tracer({3, 5}, {7, 11}, 1, 8, 16).arguments();
  arguments.push_back(*Array::make(DType::I8, {9})); // 72 bits for 21 + 55
  arguments.push_back(list(DType::I64, {0, 21}));
  std::string message =
      error(dense(1, 1, 16, "bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)",
                  ", %bits: tensor<?xi8>, %starts: tensor<?xi64>"),
            arguments);
  EXPECT_NE(message.find("request 1 needs 55 mask bits from bit 21, got a bitmap of 72"),
            std::string::npos)
      << message;
}

TEST_F(Attention, A23_BitsOfRequestsThatAreNoMultipleOfEight) {
  // 21, 55 and 9 bits one after another, each a fixed pattern of its number.
  const std::vector<int64_t> qLens{3, 5, 1}, kvLens{7, 11, 9};
  auto visible = [](int64_t bit) { return bit * bit % 7 < 4; };
  std::vector<Argument> arguments = tracer(qLens, kvLens, 1, 8, 16).arguments();
  arguments.push_back(filled(DType::I8, {11}, [&](int64_t byte) {
    int bits = 0;
    for (int i = 0; i < 8; ++i)
      bits |= visible(byte * 8 + i) << i;
    return bits > 127 ? bits - 256 : bits;
  }));
  arguments.push_back(list(DType::I64, {0, 21, 76}));
  Evaluation got = run(dense(1, 1, 16, "bitmap(%bits : tensor<?xi8>, %starts : tensor<?xi64>)",
                             ", %bits: tensor<?xi8>, %starts: tensor<?xi64>"),
                       arguments);
  int64_t token = 0, start = 0;
  for (size_t r = 0; r < 3; start += qLens[r] * kvLens[r], ++r)
    for (int64_t q = 0; q < qLens[r]; ++q, ++token)
      for (int64_t k = 0; k < kvLens[r]; ++k)
        EXPECT_EQ(got.outputs[0].values.loadAt(token * 16 + k) != 0,
                  visible(start + q * kvLens[r] + k));
}
