//===- OracleFixture.cpp - graphs in text, arguments in place -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleFixture.h"

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace pagefold;
using namespace pagefold::oracle;

Array oracle::filled(DType dtype, std::vector<int64_t> shape,
                     const std::function<double(int64_t)> &at) {
  Array array = *Array::make(dtype, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.storeAt(i, at(i));
  return array;
}

Array oracle::list(DType dtype, std::vector<double> values) {
  return filled(dtype, {static_cast<int64_t>(values.size())}, [&](int64_t i) { return values[i]; });
}

Array oracle::noise(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  return filled(dtype, std::move(shape), [&](int64_t) {
    double sum = 0; // of 12 uniform numbers, whose variance is 1
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      sum += static_cast<double>(state >> 11) * 0x1p-53;
    }
    return sum - 6;
  });
}

std::vector<double> oracle::elements(const Array &array) {
  std::vector<double> values;
  array.forEach([&](int64_t at) { values.push_back(array.loadAt(at)); });
  return values;
}

static Array offsets(const std::vector<int64_t> &lengths) {
  std::vector<double> sums{0};
  for (int64_t length : lengths)
    sums.push_back(sums.back() + static_cast<double>(length));
  return list(DType::I32, sums);
}

Dense oracle::tracer(std::vector<int64_t> qLens, std::vector<int64_t> kvLens, int64_t heads,
                     int64_t kDim, int64_t vDim) {
  Dense dense;
  dense.rows = offsets(qLens);
  dense.kvRows = offsets(kvLens);
  int64_t tokens = dense.rows.loadIntegerAt(static_cast<int64_t>(qLens.size()));
  int64_t keys = dense.kvRows.loadIntegerAt(static_cast<int64_t>(kvLens.size()));
  dense.query = *Array::make(DType::F32, {tokens, heads, kDim});
  dense.key = noise(DType::F32, {keys, heads, kDim}, 1);
  dense.value = *Array::make(DType::F32, {keys, heads, vDim});
  for (size_t r = 0; r < kvLens.size(); ++r)
    for (int64_t k = 0; k < kvLens[r]; ++k)
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t index[] = {dense.kvRows.loadIntegerAt(static_cast<int64_t>(r)) + k, head,
                                 k % vDim};
        dense.value.storeAt(dense.value.offset(index), 1);
      }
  return dense;
}

struct OracleTest::Graph {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// The first function of `text`; null, and a failure of the test, where it does not parse.
  mlir::func::FuncOp parse(const std::string &text) {
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
      ADD_FAILURE() << diagnostic.str() << "\nin\n" << text;
    });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    return module ? *module->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }
};

OracleTest::OracleTest() : graph_(std::make_unique<Graph>()) {
  mlir::DialectRegistry registry;
  registry
      .insert<attn::AttnDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
              mlir::linalg::LinalgDialect, mlir::math::MathDialect, mlir::tensor::TensorDialect>();
  graph_->context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
}
OracleTest::~OracleTest() = default;

Evaluation OracleTest::run(const std::string &text, std::span<const Argument> arguments) {
  mlir::func::FuncOp function = graph_->parse(text);
  if (!function)
    return {};
  runtime::Result<Evaluation> evaluation = evaluate(function, arguments);
  if (evaluation)
    return *evaluation;
  ADD_FAILURE() << evaluation.error().message();
  return {};
}

std::string OracleTest::error(const std::string &text, std::span<const Argument> arguments) {
  mlir::func::FuncOp function = graph_->parse(text);
  if (!function)
    return {};
  runtime::Result<Evaluation> evaluation = evaluate(function, arguments);
  if (!evaluation)
    return evaluation.error().message();
  ADD_FAILURE() << "the evaluation succeeded";
  return {};
}

std::string OracleTest::dense(int64_t heads, int64_t kvHeads, int64_t vDim,
                              const std::string &clauses, const std::string &operands) {
  std::string hq = std::to_string(heads), hk = std::to_string(kvHeads), dv = std::to_string(vDim);
  std::string q = "tensor<?x" + hq + "x8xf32>", k = "tensor<?x" + hk + "x8xf32>";
  std::string v = "tensor<?x" + hk + "x" + dv + "xf32>", i = "tensor<?xi32>";
  std::string out = "tensor<?x" + hq + "x" + dv + "xf32>", lse = "tensor<?x" + hq + "xf32>";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ", %rows: " + i +
         ", %kv_rows: " + i + operands + ") -> (" + out + ", " + lse + ") {\n" +
         "  %o, %lse = attn.attention %q, %k, %v rows(%rows) kv_rows(%kv_rows) scale 1.0 " +
         clauses + "\n    : " + q + ", " + k + ", " + v + ", " + i + ", " + i + " -> " + out +
         ", " + lse + "\n  return %o, %lse : " + out + ", " + lse + "\n}\n";
}
