//===- Program.cpp - compile and load by the C ABI ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "pagefold-c/Compiler.h"
#include "pagefold/runtime/Artifact.h"

#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <nlohmann/json.hpp>

using namespace pagefold;
using namespace pagefold::run;
using nlohmann::json;

Status run::toStatus(pagefold_error *error) {
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
  nlohmann::json options = {{"target", target},
                            {"online_softmax", onlineSoftmax},
                            {"cascade", cascade},
                            {"counters", counters},
                            {"strict", strict}};
  if (!code.empty())
    options["code"] = code;
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

Result<std::string> run::compileArtifact(const std::string &text, const std::string &options) {
  void *bytes = nullptr;
  size_t size = 0;
  Status status =
      toStatus(pagefold_compile(text.data(), text.size(), options.c_str(), &bytes, &size, nullptr));
  if (!status)
    return tl::unexpected(status.error());
  std::string artifact(static_cast<const char *>(bytes), size);
  pagefold_bytes_free(bytes);
  return artifact;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Result<Program> Program::load(const std::string &artifact, Graph &graph) {
  Program program;
  pagefold_module *module = nullptr;
  if (Status status = toStatus(pagefold_module_load(artifact.data(), artifact.size(), &module));
      !status)
    return tl::unexpected(status.error());
  program.module_.reset(module);
  const std::string name = graph.function().getName().str();
  attn::BoundsAttr bounds = graph.bounds();
  if (Status status =
          toStatus(bounds ? pagefold_module_function_for(module, name.c_str(), bounds.getBatch(),
                                                         bounds.getQLen(), bounds.getKvLen(),
                                                         bounds.maxTokens(), &program.function_)
                          : pagefold_module_function(module, name.c_str(), &program.function_));
      !status)
    return tl::unexpected(status.error());
  // It has been read a moment ago.
  const runtime::Artifact parsed = *runtime::parse(artifact);
  program.onGpu_ = parsed.plan.target.kind == "cuda";
  for (const runtime::FunctionPlan &plan : parsed.plan.functions)
    if (plan.graphName() == name) { // variants have the same arguments
      for (const runtime::ArgumentPlan &argument : plan.args)
        program.scalars_.push_back(argument.scalar);
      break;
    }
  return program;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

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
