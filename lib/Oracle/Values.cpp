//===- Values.cpp - what SSA values stand for in the oracle ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include <atomic>
#include <thread>

using namespace pagefold;
using namespace pagefold::oracle;

static TensorRef widen(const Array &array) {
  auto tensor = std::make_shared<Tensor>(array.shape());
  double *to = tensor->values.data();
  array.forEach([&](int64_t at) { *to++ = array.loadAt(at); });
  return tensor;
}

TensorRef Environment::tensor(mlir::Value value) {
  Value &held = values_.find(value)->second;
  if (auto *array = std::get_if<Array>(&held))
    held = widen(*array);
  if (auto *scalar = std::get_if<Scalar>(&held)) {
    bool real = llvm::isa<mlir::FloatType>(value.getType());
    return std::make_shared<Tensor>(std::vector<int64_t>{},
                                    real ? scalar->real : double(scalar->integer));
  }
  return std::get<TensorRef>(held);
}

std::vector<int64_t> oracle::toIntegers(const Tensor &tensor) {
  return std::vector<int64_t>(tensor.values.begin(), tensor.values.end());
}

tl::unexpected<runtime::Error> oracle::failAt(mlir::Operation *op, runtime::ErrorCode code,
                                              const std::string &what) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "'" << op->getName().getStringRef() << "' at ";
  op->getLoc().print(stream);
  stream << ": " << what;
  return runtime::fail(code, text);
}

void oracle::parallelFor(int64_t count, unsigned threads, llvm::function_ref<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t i = next++; i < count; i = next++)
      body(i);
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < threads && t < count; ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}
