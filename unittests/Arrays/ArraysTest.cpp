//===- ArraysTest.cpp - arrays and their views ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/Arrays.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace pagefold;

static const double kInfinity = std::numeric_limits<double>::infinity();

TEST(Array, HalfRoundsToNearestEvenOnce) {
  EXPECT_EQ(roundTo(DType::F16, 65504), 65504);
  EXPECT_EQ(roundTo(DType::F16, 65519.99), 65504);
  EXPECT_EQ(roundTo(DType::F16, 65520), kInfinity);
  EXPECT_EQ(roundTo(DType::F16, -65520), -kInfinity);
  EXPECT_EQ(roundTo(DType::F16, 2049), 2048); // halfway between 2048 and 2050, to the even one
  EXPECT_EQ(roundTo(DType::F16, 2051), 2052);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-25), 0);
  EXPECT_EQ(roundTo(DType::F16, 0x1.8p-24), 0x1p-23);
  // By way of f32 this would first round to 1 + 2^-11, and from there, as a tie, to 1.
  EXPECT_EQ(roundTo(DType::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
}

TEST(Array, BrainFloatRoundsToNearestEvenOnce) {
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1.8p-7), 1 + 0x1p-6);
  EXPECT_EQ(roundTo(DType::BF16, 0x1.FEp127), 0x1.FEp127);
  EXPECT_EQ(roundTo(DType::BF16, 0x1.FFp127), kInfinity);
  EXPECT_EQ(roundTo(DType::BF16, 0x1p-133), 0x1p-133);
  EXPECT_EQ(roundTo(DType::BF16, 0x1p-134), 0);
}

TEST(Array, FloatOf8BitsRoundsToNearestEvenAndSaturates) {
  EXPECT_EQ(roundTo(DType::F8E4M3, 17), 16);
  EXPECT_EQ(roundTo(DType::F8E4M3, 19), 20);
  EXPECT_EQ(roundTo(DType::F8E4M3, 1 + 0x1p-4 + 0x1p-40), 1.125);
  EXPECT_EQ(roundTo(DType::F8E4M3, 0x1p-9), 0x1p-9);
  EXPECT_EQ(roundTo(DType::F8E4M3, 0x1p-10), 0);
  EXPECT_EQ(roundTo(DType::F8E4M3, 0x1.8p-9), 0x1p-8);
  for (double beyond : {448.0, 464.0, 465.0, 1000.0, 1e300, kInfinity}) {
    EXPECT_EQ(roundTo(DType::F8E4M3, beyond), 448);
    EXPECT_EQ(roundTo(DType::F8E4M3, -beyond), -448);
  }
}

TEST(Array, FloatOf8BitsHasTheseNumbers) {
  Array array = *Array::make(DType::F8E4M3, {1});
  auto at = [&](uint8_t byte) {
    std::memcpy(array.data(), &byte, 1);
    return array.loadAt(0);
  };
  EXPECT_EQ(at(0x01), 0x1p-9);
  EXPECT_EQ(at(0x08), 0x1p-6);
  EXPECT_EQ(at(0x38), 1);
  EXPECT_EQ(at(0x7E), 448);
  EXPECT_EQ(at(0xFE), -448);
  EXPECT_TRUE(std::isnan(at(0x7F)) && std::isnan(at(0xFF)));
  EXPECT_TRUE(at(0x80) == 0 && std::signbit(at(0x80)));
}

/// Every pattern of bits is the number it was read as.
static void expectAllPatternsSurvive(DType dtype) {
  Array array = *Array::make(dtype, {1});
  size_t bytes = dtypeSize(dtype);
  for (unsigned pattern = 0; pattern < 1u << (8 * bytes); ++pattern) {
    uint16_t stored = static_cast<uint16_t>(pattern), back = 0;
    std::memcpy(array.data(), &stored, bytes);
    double value = array.loadAt(0);
    array.storeAt(0, value);
    std::memcpy(&back, array.data(), bytes);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(array.loadAt(0)));
    else
      EXPECT_EQ(back, stored);
  }
}

TEST(Array, AllHalvesSurviveLoadAndStore) { expectAllPatternsSurvive(DType::F16); }
TEST(Array, AllBrainFloatsSurviveLoadAndStore) { expectAllPatternsSurvive(DType::BF16); }
TEST(Array, AllFloatsOf8BitsSurviveLoadAndStore) { expectAllPatternsSurvive(DType::F8E4M3); }

TEST(Array, IntegersSaturate) {
  Array bytes = *Array::make(DType::I8, {3});
  bytes.storeAt(0, 1000);
  bytes.storeAt(1, -kInfinity);
  bytes.storeAt(2, std::nan(""));
  EXPECT_EQ(bytes.loadAt(0), 127);
  EXPECT_EQ(bytes.loadAt(1), -128);
  EXPECT_EQ(bytes.loadAt(2), 0);
  Array wide = *Array::make(DType::I64, {1});
  wide.storeAt(0, 1e300);
  EXPECT_EQ(wide.loadIntegerAt(0), std::numeric_limits<int64_t>::max());
}

TEST(Array, ViewsOfOneBufferShareIt) {
  // K and V interleaved, as [pages, 2, page, dim].
  Array pool = *Array::make(DType::F32, {3, 2, 4, 8});
  Array v = *pool.view({3, 4, 8}, {64, 8, 1}, 32);
  v.storeAt(v.offset(std::vector<int64_t>{2, 3, 7}), 5);
  EXPECT_EQ(pool.loadAt(pool.offset(std::vector<int64_t>{2, 1, 3, 7})), 5);
  EXPECT_FALSE(v.isContiguous());
  Array copy = *v.clone();
  EXPECT_TRUE(copy.isContiguous());
  EXPECT_EQ(copy.loadAt(3 * 4 * 8 - 1), 5);
  copy.storeAt(0, 7);
  EXPECT_EQ(v.loadAt(0), 0);
}

TEST(Array, ViewsStayInTheirBuffer) {
  Array pool = *Array::make(DType::F32, {4, 8});
  EXPECT_TRUE(pool.view({4, 8}, {8, 1}, 0));
  EXPECT_FALSE(pool.view({4, 8}, {8, 1}, 1));
  EXPECT_FALSE(pool.view({5, 8}, {8, 1}, 0));
  EXPECT_FALSE(pool.view({2}, {std::numeric_limits<int64_t>::max()}, 8));
  EXPECT_FALSE(pool.view({2}, {-1}, 8));
  EXPECT_FALSE(pool.view({2}, {1}, -1));
  EXPECT_TRUE(pool.view({0, 100}, {100, 1}, 0));
}

TEST(Array, ImpossibleShapesAreRefused) {
  EXPECT_FALSE(Array::make(DType::F32, {int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(Array::make(DType::F64, {int64_t{1} << 61}));
  EXPECT_FALSE(Array::make(DType::F32, {-1}));
  runtime::Result<Array> big = Array::make(DType::F32, {int64_t{1} << 58});
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code(), runtime::ErrorCode::OutOfCapacity);
  EXPECT_EQ(elementCount(std::vector<int64_t>{0, int64_t{1} << 62, 4}), std::nullopt);
}

TEST(Array, ForEachVisitsInRowMajorOrder) {
  Array array = *Array::make(DType::I32, {2, 3});
  for (int i = 0; i < 6; ++i)
    array.storeIntegerAt(i, i);
  std::vector<int64_t> order{1, 0}, seen;
  Array transposed = array.permuted(order);
  transposed.forEach([&](int64_t at) { seen.push_back(transposed.loadIntegerAt(at)); });
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(transposed.reshaped({6}));
  EXPECT_EQ(array.reshaped({3, 2})->strides(), (std::vector<int64_t>{2, 1}));
}
