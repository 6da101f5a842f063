//===- OracleFixture.h - graphs in text, arguments in place -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_ORACLE_ORACLEFIXTURE_H
#define PAGEFOLD_UNITTESTS_ORACLE_ORACLEFIXTURE_H

#include "pagefold/Oracle/Oracle.h"

#include <functional>
#include <gtest/gtest.h>

namespace pagefold::oracle {

/// An array whose element number i, in row-major order, is at(i).
Array filled(DType dtype, std::vector<int64_t> shape, const std::function<double(int64_t)> &at);
/// An array of rank 1.
Array list(DType dtype, std::vector<double> values);
/// Deterministic and normal-looking: sums of a linear congruence, about N(0, 1).
Array noise(DType dtype, std::vector<int64_t> shape, uint64_t seed);
/// Row-major elements as float64.
std::vector<double> elements(const Array &array);

/// Dense keys of all requests: K and V rows one after another.
struct Dense {
  Array query, key, value, rows, kvRows;
  std::vector<Argument> arguments() const { return {query, key, value, rows, kvRows}; }
};
/// Q = 0 and tracer values (v_j = unit vector j mod v_dim), so that the output is the visible set
/// over its size.
Dense tracer(std::vector<int64_t> qLens, std::vector<int64_t> kvLens, int64_t heads, int64_t kDim,
             int64_t vDim);

class OracleTest : public testing::Test {
protected:
  OracleTest();
  ~OracleTest() override;
  /// Evaluates the only function of `text`; a failure is one of the test.
  Evaluation run(const std::string &text, std::span<const Argument> arguments);
  /// The message of an evaluation that has to fail.
  std::string error(const std::string &text, std::span<const Argument> arguments);
  /// A graph of one dense attention, [?, heads, 8] by [?, kvHeads, 8] and [?, kvHeads, vDim],
  /// giving out and lse. `clauses` come after the scale, `operands` are further arguments as the
  /// function declares them.
  static std::string dense(int64_t heads, int64_t kvHeads, int64_t vDim, const std::string &clauses,
                           const std::string &operands = "");

private:
  struct Graph; ///< keeps MLIR out of the tests' headers
  std::unique_ptr<Graph> graph_;
};

} // namespace pagefold::oracle

#endif // PAGEFOLD_UNITTESTS_ORACLE_ORACLEFIXTURE_H
