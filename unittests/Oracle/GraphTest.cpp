//===- GraphTest.cpp - the oracle's tensors, scalars and errors -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleFixture.h"

#include <cmath>

using namespace pagefold;
using namespace pagefold::oracle;

namespace {
class Graph : public OracleTest {};
} // namespace

TEST_F(Graph, ElementwiseWithBroadcastAndTranspose) {
  const char text[] = R"(
func.func @f(%x: tensor<2x3xf32>, %bias: tensor<3xf32>, %t: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %empty = tensor.empty() : tensor<2x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias, %t : tensor<2x3xf32>, tensor<3xf32>, tensor<3x2xf32>) outs(%empty : tensor<2x3xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      %r = arith.mulf %s, %c : f32
      linalg.yield %r : f32
  } -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
})";
  std::vector<Argument> arguments{
      filled(DType::F32, {2, 3}, [](int64_t i) { return double(i); }),
      list(DType::F32, {10, 20, 30}),
      filled(DType::F32, {3, 2}, [](int64_t i) { return double(i + 1); })};
  EXPECT_EQ(elements(run(text, arguments).outputs[0].values),
            (std::vector<double>{10, 63, 160, 26, 96, 210}));
}

TEST_F(Graph, ReshapesKeepTheRequestsOfTheirRows) {
  const char text[] = R"(
func.func @f(%q: tensor<?x16xf32>, %k: tensor<?x2x8xf32>, %rows: tensor<?xi32>) -> tensor<?x16xf32> {
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %q, %zero : tensor<?x16xf32>
  %heads = tensor.expand_shape %q [[0], [1, 2]] output_shape [%tokens, 2, 8] : tensor<?x16xf32> into tensor<?x2x8xf32>
  %o = attn.attention %heads, %k, %k rows(%rows) kv_rows(%rows) scale 1.0
    : tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32>, tensor<?xi32>, tensor<?xi32> -> tensor<?x2x8xf32>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x2x8xf32> into tensor<?x16xf32>
  return %flat : tensor<?x16xf32>
})";
  Array keys = noise(DType::F32, {2, 2, 8}, 1);
  std::vector<Argument> arguments{noise(DType::F32, {2, 16}, 2), keys, list(DType::I32, {0, 1, 2})};
  Evaluation got = run(text, arguments);
  EXPECT_EQ(got.outputs[0].values.shape(), (std::vector<int64_t>{2, 16}));
  EXPECT_EQ(elements(got.outputs[0].values), elements(keys)) << "each row sees one key";
  ASSERT_TRUE(got.outputs[0].requests);
  EXPECT_EQ(got.outputs[0].requests->rows, (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(Graph, IntegersWrapAndCompareAsTheirTypesSay) {
  const char text[] = R"(
func.func @f(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %e0 = tensor.empty() : tensor<4xi32>
  %e1 = tensor.empty() : tensor<4xf32>
  %y, %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e0, %e1 : tensor<4xi32>, tensor<4xf32>) {
    ^bb0(%a: i32, %o0: i32, %o1: f32):
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %sum = arith.addi %a, %one : i32
      %less = arith.cmpi ult, %a, %three : i32
      %bit = arith.extui %less : i1 to i32
      %f = arith.sitofp %bit : i32 to f32
      linalg.yield %sum, %f : i32, f32
  } -> (tensor<4xi32>, tensor<4xf32>)
  return %y, %z : tensor<4xi32>, tensor<4xf32>
})";
  std::vector<Argument> arguments{list(DType::I32, {2147483647, -1, 2, 3})};
  Evaluation got = run(text, arguments);
  EXPECT_EQ(elements(got.outputs[0].values), (std::vector<double>{-2147483648.0, 0, 3, 4}));
  EXPECT_EQ(elements(got.outputs[1].values), (std::vector<double>{0, 0, 1, 0}));
}

TEST_F(Graph, StoredInputsAreReadAtTheirType) {
  const char text[] = R"(
func.func @f(%x: tensor<2x1x8xbf16>, %w: tensor<8xf32>) -> tensor<2x1x8xbf16> {
  %y = attn.rms_norm %x, %w eps 1.0e-5 : tensor<2x1x8xbf16>, tensor<8xf32>
  return %y : tensor<2x1x8xbf16>
})";
  std::vector<Argument> arguments{filled(DType::BF16, {2, 1, 8}, [](int64_t) { return 1.001; }),
                                  filled(DType::F32, {8}, [](int64_t) { return 2; })};
  Evaluation got = run(text, arguments);
  EXPECT_EQ(got.outputs[0].dtype, DType::BF16);
  // 1.001 is stored as 1; the result is not rounded.
  EXPECT_NEAR(got.outputs[0].values.loadAt(0), 2 / std::sqrt(1 + 1e-5), 1e-15);
}

TEST_F(Graph, WhatIsOutOfReachIsNamed) {
  const char text[] = R"(
func.func @f(%x: tensor<?x8xf32>) -> tensor<8x?xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<8x?xf32>
  %y = linalg.transpose ins(%x : tensor<?x8xf32>) outs(%e : tensor<8x?xf32>) permutation = [1, 0]
  return %y : tensor<8x?xf32>
})";
  std::vector<Argument> arguments{*Array::make(DType::F32, {2, 8})};
  EXPECT_NE(error(text, arguments).find("'linalg.transpose' at "), std::string::npos);
  std::vector<Argument> none;
  EXPECT_NE(error(text, none).find("expects 1 arguments, got 0"), std::string::npos);
}
