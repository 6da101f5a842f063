//===- CompareTest.cpp - tolerances ---------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleFixture.h"

#include "pagefold/Oracle/Compare.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::oracle;

/// Two requests, of one and of three rows of eight elements.
static Output reference(DType dtype) {
  auto requests = std::make_shared<Requests>();
  *requests = {{0, 1, 4}, {100, 400}, {5, 10}, dtype};
  return {noise(DType::F64, {4, 8}, 1), dtype, false, requests};
}

/// The reference with element `at` moved by `by`.
static Array moved(const Output &output, int64_t at, double by) {
  Array array = *output.values.clone();
  array.storeAt(at, array.loadAt(at) + by);
  return array;
}

TEST(Compare, EqualArraysAgree) {
  Output want = reference(DType::F32);
  Comparison outcome = compare(want.values, want);
  EXPECT_TRUE(outcome.ok());
  ASSERT_EQ(outcome.requests.size(), 2u);
  EXPECT_EQ(outcome.requests[1].error, 0);
  EXPECT_DOUBLE_EQ(outcome.requests[0].bound, 1e-6 * (10 + 5));
  EXPECT_DOUBLE_EQ(outcome.requests[1].bound, 1e-6 * (20 + 10));
}

TEST(Compare, BoundsHoldForEachRequestByItself) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Output want = reference(dtype);
    double squares = 0;
    for (int64_t at = 0; at < 8; ++at)
      squares += want.values.loadAt(at) * want.values.loadAt(at);
    double bound = dtype == DType::BF16 ? 4e-3 : dtype == DType::F16 ? 1e-3 : 15e-6;
    EXPECT_TRUE(compare(moved(want, 3, 0.99 * bound * std::sqrt(squares)), want).ok());
    Comparison outcome = compare(moved(want, 3, 1.01 * bound * std::sqrt(squares)), want);
    EXPECT_FALSE(outcome.requests[0].ok());
    EXPECT_TRUE(outcome.requests[1].ok());
    EXPECT_EQ(outcome.summary().find("request 0: error "), 0u) << outcome.summary();
    EXPECT_EQ(outcome.requests[0].worstIndex, (std::vector<int64_t>{0, 3}));
  }
}

TEST(Compare, OneElementMayNotCarryAllTheError) {
  // 400 elements: one may be off by the whole norm's bound only where that is below 8 x RMS x
  // bound.
  Output want{filled(DType::F64, {400}, [](int64_t) { return 1; }), DType::F16, false, nullptr};
  EXPECT_TRUE(compare(moved(want, 7, 0.0084), want).ok());
  Comparison outcome = compare(moved(want, 7, 0.0086), want);
  EXPECT_LE(outcome.requests[0].error, outcome.requests[0].bound);
  EXPECT_FALSE(outcome.ok());
  EXPECT_NE(outcome.summary().find("worst element"), std::string::npos);
}

TEST(Compare, TheCoarserTypeDecides) {
  Output want = reference(DType::F32);
  want.dtype = DType::BF16;
  EXPECT_EQ(compare(want.values, want).requests[0].bound, 4e-3);
  want = reference(DType::F16);
  want.dtype = DType::F32;
  EXPECT_EQ(compare(want.values, want).requests[0].bound, 1e-3);
}

TEST(Compare, LogSumExpIsAbsolute) {
  Output want = reference(DType::F32);
  want.isLse = true;
  EXPECT_TRUE(compare(moved(want, 3, 1.4e-5), want).ok());
  EXPECT_FALSE(compare(moved(want, 3, 1.6e-5), want).ok());
  Output coarse = reference(DType::BF16);
  coarse.isLse = true;
  coarse.dtype = DType::F32;
  EXPECT_TRUE(compare(moved(coarse, 3, 0.9e-3), coarse).ok());
  EXPECT_FALSE(compare(moved(coarse, 3, 1.1e-3), coarse).ok());
}

TEST(Compare, NonFiniteElementsHaveToMatch) {
  Output want = reference(DType::F16);
  Array got = *want.values.clone();
  auto set = [&](int64_t at, double reference, double result) {
    want.values.storeAt(at, reference);
    got.storeAt(at, result);
  };
  set(0, NAN, NAN);
  set(1, -INFINITY, -INFINITY);
  set(2, 1e6, INFINITY); // past the largest f16
  EXPECT_TRUE(compare(got, want).ok()) << compare(got, want).summary();
  for (auto [reference, result] :
       {std::pair{1.0, NAN}, {NAN, 1.0}, {INFINITY, -INFINITY}, {1.0, INFINITY}, {INFINITY, 1.0}}) {
    set(9, reference, result);
    Comparison outcome = compare(got, want);
    EXPECT_EQ(outcome.requests[1].nonFinite, 1);
    EXPECT_FALSE(outcome.ok());
    EXPECT_NE(outcome.summary().find("[1, 1]"), std::string::npos) << outcome.summary();
  }
}

TEST(Compare, ZerosWantZeros) {
  Output want{*Array::make(DType::F64, {8}), DType::BF16, false, nullptr};
  EXPECT_TRUE(compare(want.values, want).ok());
  EXPECT_FALSE(compare(moved(want, 3, 1e-30), want).ok());
}

TEST(Compare, ShapesHaveToMatch) {
  Output want = reference(DType::F32);
  EXPECT_FALSE(compare(*Array::make(DType::F64, {8, 4}), want).ok());
}

TEST(ComparePages, UntouchedSlotsAreBitEqual) {
  Array before = noise(DType::BF16, {4, 8}, 1), want = *before.clone(), got;
  before.storeAt(3, NAN);
  want.storeAt(3, NAN);
  want.storeAt(9, 100); // appended
  got = *want.clone();
  EXPECT_TRUE(comparePages(got, want, before)->ok());
  got.storeAt(9, 100.5); // the next bf16 up, at twice this tolerance
  EXPECT_FALSE(comparePages(got, want, before)->ok());
  got = *want.clone();
  got.storeAt(20, got.loadAt(20) + 1);
  Comparison outcome = *comparePages(got, want, before);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.summary(),
            "1 elements of pages changed that the call does not write, the first at [2, 4]");
}
