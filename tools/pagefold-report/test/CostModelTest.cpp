//===- CostModelTest.cpp - the parts of a step, by hand -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModel.h"
#include "CostModelCheck.h"
#include "Synthetic.h"

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

CostModel llamaOnH200() {
  Model model =
      expectValue(readModel(std::string(PAGEFOLD_SOURCE) + "/examples/models/llama-3-8b.json"));
  return CostModel(model, *readDevice("H200"));
}

// One decode of 1000 tokens: weights are read once (13.96 GB at 85 % of 4.8 TB/s), the output
// projection once (1.05 GB), K and V once (131 MB).
TEST(CostModel, DecodeReadsWeightsAndCache) {
  StepShape shape;
  shape.decodes = 1;
  shape.decodeContext = 1000;
  shape.sampledRows = 1;
  StepCost cost = llamaOnH200().price(shape);
  EXPECT_DOUBLE_EQ(cost.overhead, 0.002);
  EXPECT_NEAR(cost.linear, 2 * 6.979e9 / (4.8e12 * 0.85), 1e-6);
  EXPECT_FALSE(cost.linearComputeBound);
  EXPECT_NEAR(cost.lmHead, 2 * 0.5253e9 / (4.8e12 * 0.85), 1e-6);
  EXPECT_NEAR(cost.decodeAttention, 1000 * 131072 / (4.8e12 * 0.85), 1e-9);
  EXPECT_EQ(cost.prefillAttention, 0);
}

// A chunk of 2048 after 6144: 4 L H d (q s + q (q + 1) / 2) operations.
TEST(CostModel, PrefillComputes) {
  StepShape shape;
  shape.prefills = {{2048, 6144}};
  StepCost cost = llamaOnH200().price(shape);
  EXPECT_TRUE(cost.linearComputeBound);
  EXPECT_NEAR(cost.linear, 2 * 2048 * 6.979e9 / (989e12 * 0.70), 1e-5);
  double pairs = 2048.0 * 6144 + 2048.0 * 2049 / 2;
  EXPECT_NEAR(cost.prefillAttention, 4 * 32 * 32 * 128 * pairs / (989e12 * 0.5), 1e-9);
  EXPECT_DOUBLE_EQ(cost.prefillComputeBound, cost.prefillAttention);
  EXPECT_EQ(cost.lmHead, 0); // nothing is sampled in the middle of a prompt
}

TEST(CostModel, AHitCutsProductsAndNotAttentionOverIt) {
  CostModel cost = llamaOnH200();
  StepShape cold, hit;
  cold.prefills = {{4096, 0}};
  hit.prefills = {{2048, 2048}};
  EXPECT_NEAR(cost.price(hit).linear / cost.price(cold).linear, 0.5, 1e-9);
  EXPECT_NEAR(cost.price(hit).prefillAttention / cost.price(cold).prefillAttention, 0.75, 1e-3);
}

TEST(CostModel, HoldsAgainstPublishedFigures) {
  CostCheckSummary summary = expectValue(checkCostModel());
  EXPECT_EQ(summary.checks.size(), 9u);
  EXPECT_TRUE(summary.holds()) << toText(summary);
}

} // namespace
