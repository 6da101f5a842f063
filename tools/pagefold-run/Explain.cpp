//===- Explain.cpp - a launch plan for people -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include <nlohmann/json.hpp>

using namespace pagefold;
using nlohmann::json;

/// A value on one line: strings without quotes, objects as "key value, ...", long lists as their
/// length.
static std::string plain(const json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_array() && value.size() > 8)
    return "(" + std::to_string(value.size()) + " of them)";
  if (!value.is_object())
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string text;
  for (const auto &[key, member] : value.items())
    text += (text.empty() ? "" : ", ") + key + " " + plain(member);
  return text;
}

static std::string field(const json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? "?" : plain(*found);
}

static std::string shapeText(const json &argument) {
  const json empty = json::array();
  const json &shape = argument.contains("symbolic_shape") ? argument["symbolic_shape"]
                      : argument.contains("shape")        ? argument["shape"]
                                                          : empty;
  std::string text = "[";
  for (const json &dim : shape)
    text += (text.size() > 1 ? ", " : "") + (dim.is_null() ? "?" : plain(dim));
  return text + "]";
}

static void printArguments(const json &plan, const char *key, llvm::raw_ostream &out) {
  auto found = plan.find(key);
  if (found == plan.end() || !found->is_array())
    return;
  out << "  " << key << ":\n";
  for (const json &argument : *found) {
    if (!argument.is_object())
      continue;
    out << "    " << field(argument, "name") << ": " << field(argument, "dtype") << " "
        << shapeText(argument);
    if (field(argument, "access") == "readwrite")
      out << ", updated in place";
    out << "\n";
  }
}

static void printKernels(const json &kernels, llvm::raw_ostream &out) {
  out << "  kernels, in order:\n";
  for (const json &kernel : kernels) {
    if (!kernel.is_object())
      continue;
    out << "    " << field(kernel, "symbol");
    for (const auto &[key, value] : kernel.items())
      if (key != "symbol")
        out << ", " << key << " " << plain(value);
    out << "\n";
  }
}

void run::printPlan(llvm::StringRef planJson, llvm::raw_ostream &out) {
  json plan = json::parse(planJson.str(), nullptr, /*allow_exceptions=*/false);
  if (!plan.is_object()) {
    out << planJson << "\n";
    return;
  }
  out << "launch plan of '" << field(plan, "name") << "':\n";
  printArguments(plan, "args", out);
  printArguments(plan, "results", out);
  for (const auto &[key, value] : plan.items()) {
    if (key == "name" || key == "args" || key == "results")
      continue;
    if (key == "kernels" && value.is_array())
      printKernels(value, out);
    else
      out << "  " << key << ": " << plain(value) << "\n";
  }
}
