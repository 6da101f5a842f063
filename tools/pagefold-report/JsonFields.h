//===- JsonFields.h - reads typed fields of a JSON object -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Model, device and kernel files are JSON objects written by people. Each field is read by its
// type and range, and the first thing that does not fit is the error:
//
//   JsonFields fields(object, "model.json");
//   model.layers = fields.count("num_hidden_layers");
//   if (fields.error()) return ...;
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_JSONFIELDS_H
#define PAGEFOLD_REPORT_JSONFIELDS_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace pagefold::report {

/// The object a file holds.
runtime::Result<nlohmann::json> parseObject(std::string_view text, const std::string &name);

class JsonFields {
public:
  /// Both must outlive the reader. `name` begins every message.
  JsonFields(const nlohmann::json &object, const std::string &name) : object(object), name(name) {}

  /// A whole number from 1 to 2^31 - 1; with a default, the key may be absent.
  uint32_t count(const char *key, std::optional<uint32_t> absent = std::nullopt);
  /// The same from 0; the key must be there.
  uint32_t countOrZero(const char *key);
  /// A finite number above 0.
  double positive(const char *key, std::optional<double> absent = std::nullopt);
  std::string text(const char *key, std::optional<std::string> absent = std::nullopt);

  bool has(const char *key) const;
  /// Keeps the first error only.
  void setError(std::string message);
  const std::optional<runtime::Error> &error() const { return firstError; }

private:
  const nlohmann::json *find(const char *key, bool required, const char *expects);

  const nlohmann::json &object;
  const std::string &name;
  std::optional<runtime::Error> firstError;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_JSONFIELDS_H
