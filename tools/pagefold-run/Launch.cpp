//===- Launch.cpp - compile, load and launch by the C ABI -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "pagefold-c/Compiler.h"

#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <nlohmann/json.hpp>

using namespace pagefold;
using namespace pagefold::run;
using nlohmann::json;

/// Takes the error over.
static Status toStatus(pagefold_error *error) {
  if (!error)
    return {};
  auto code = static_cast<ErrorCode>(pagefold_error_code(error));
  std::string message = pagefold_error_message(error);
  pagefold_error_free(error);
  return fail(code, message);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

Result<std::string> CompileOptions::json() const {
  nlohmann::json options = {
      {"target", target}, {"online_softmax", onlineSoftmax}, {"counters", counters}};
  for (llvm::StringRef part : llvm::split(schedule, ',')) {
    if (part.empty())
      continue;
    auto [key, value] = part.split('=');
    int64_t number;
    if (key.empty() || value.empty())
      return fail(ErrorCode::InvalidArgument,
                  "--schedule expects key=value,..., got '" + part.str() + "'");
    if (value.getAsInteger(10, number))
      options["schedule"][key.str()] = value.str();
    else
      options["schedule"][key.str()] = number;
  }
  return options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Program> Program::compile(const std::string &text, const std::string &options,
                                 const std::string &function) {
  void *bytes = nullptr;
  size_t size = 0;
  char *remarks = nullptr;
  Status status = toStatus(
      pagefold_compile(text.data(), text.size(), options.c_str(), &bytes, &size, &remarks));
  Program program;
  if (remarks)
    program.remarks_ = remarks;
  pagefold_string_free(remarks);
  if (status)
    status = program.load(bytes, size, function);
  if (bytes)
    pagefold_bytes_free(bytes);
  if (!status)
    return tl::unexpected(status.error());
  return program;
}

Status Program::load(const void *bytes, size_t size, const std::string &function) {
  pagefold_module *module = nullptr;
  if (Status status = toStatus(pagefold_module_load(bytes, size, &module)); !status)
    return status;
  module_.reset(module);
  Status status = toStatus(pagefold_module_function(module, function.c_str(), &function_));
  return status ? makeWorkspace() : status;
}

Status Program::makeWorkspace() {
  int64_t size = static_cast<int64_t>(pagefold_function_workspace_size(function_));
  Result<Array> workspace = Array::make(DType::U8, {size});
  if (!workspace)
    return tl::unexpected(workspace.error());
  workspace_ = *workspace;
  return toStatus(pagefold_workspace_init(function_, workspace_.data(), size, nullptr));
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

static DLDataType dlType(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * dtypeSize(dtype));
  if (dtype == DType::BF16)
    return {kDLBfloat, bits, 1};
  if (isFloat(dtype))
    return {kDLFloat, bits, 1};
  return {static_cast<uint8_t>(dtype == DType::U8 || dtype == DType::Bool ? kDLUInt : kDLInt), bits,
          1};
}

/// A DLTensor that points into the array.
static DLTensor dlTensor(const Array &array) {
  return {array.data(),
          {kDLCPU, 0},
          static_cast<int>(array.rank()),
          dlType(array.dtype()),
          const_cast<int64_t *>(array.shape().data()),
          const_cast<int64_t *>(array.strides().data()),
          0};
}

Status Program::launch(const std::vector<Array> &arguments, const std::vector<Array> &results) {
  std::vector<DLTensor> tensors;
  for (const auto *arrays : {&arguments, &results})
    for (const Array &array : *arrays)
      tensors.push_back(dlTensor(array));
  std::vector<const DLTensor *> pointers;
  for (const DLTensor &tensor : tensors)
    pointers.push_back(&tensor);
  return toStatus(pagefold_function_launch(function_, pointers.data(), pointers.size(),
                                           workspace_.data(), workspace_.size(), nullptr));
}

Result<std::string> Program::counters() const {
  char *text = nullptr;
  if (Status status =
          toStatus(pagefold_function_counters_json(function_, workspace_.data(), &text));
      !status)
    return tl::unexpected(status.error());
  std::string counters = text;
  pagefold_string_free(text);
  return counters;
}

/// The tokens of the batch: the first extent of the first argument that counts them.
static int64_t tokensOf(const Graph &graph, const std::vector<Array> &arguments) {
  for (auto [parameter, array] : llvm::zip_equal(graph.parameters(), arguments))
    if (parameter.role == Role::Data && !parameter.shape.empty() &&
        parameter.shape[0] == Parameter::kDynamic)
      return array.dim(0);
  return 0;
}

static Result<Array> makeResult(mlir::RankedTensorType type, int64_t tokens, size_t number) {
  mlir::Type element = type.getElementType();
  DType dtype = element.isBF16()        ? DType::BF16
                : element.isF16()       ? DType::F16
                : element.isInteger(32) ? DType::I32
                : element.isInteger(64) ? DType::I64
                : element.isInteger(8)  ? DType::I8
                : element.isF64()       ? DType::F64
                                        : DType::F32;
  std::vector<int64_t> shape;
  for (auto [i, dim] : llvm::enumerate(type.getShape())) {
    if (mlir::ShapedType::isDynamic(dim) && i > 0)
      return fail(ErrorCode::Unsupported, "result " + std::to_string(number) +
                                              " has a dynamic dimension " + std::to_string(i) +
                                              "; only the first one may be dynamic, the tokens");
    shape.push_back(mlir::ShapedType::isDynamic(dim) ? tokens : dim);
  }
  Result<Array> array = Array::make(dtype, std::move(shape));
  for (int64_t at = 0; array && at < array->size(); ++at)
    array->storeAt(at, std::numeric_limits<double>::quiet_NaN());
  return array;
}

Result<std::vector<Array>> run::makeResults(Graph &graph, const std::vector<Array> &arguments) {
  std::vector<Array> results;
  int64_t tokens = tokensOf(graph, arguments);
  for (mlir::Type type : graph.function().getResultTypes()) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor)
      continue; // a cache is its argument, written in place
    Result<Array> array = makeResult(tensor, tokens, results.size());
    if (!array)
      return tl::unexpected(array.error());
    results.push_back(*array);
  }
  return results;
}
