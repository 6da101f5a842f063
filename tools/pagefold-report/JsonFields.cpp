//===- JsonFields.cpp - reads typed fields of a JSON object ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonFields.h"

#include <cmath>

namespace pagefold::report {

using nlohmann::json;
using runtime::ErrorCode;
using runtime::fail;

runtime::Result<json> parseObject(std::string_view text, const std::string &name) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (object.is_discarded())
    return fail(ErrorCode::BadInput, name + ": expects a JSON object, got text that is not JSON");
  if (!object.is_object())
    return fail(ErrorCode::BadInput,
                name + ": expects a JSON object, got " + std::string(object.type_name()));
  return object;
}

bool JsonFields::has(const char *key) const {
  auto it = object.find(key);
  return it != object.end() && !it->is_null();
}

void JsonFields::setError(std::string message) {
  if (!firstError)
    firstError.emplace(ErrorCode::BadInput, name + ": " + std::move(message));
}

const json *JsonFields::find(const char *key, bool required, const char *expects) {
  if (has(key))
    return &object[key];
  if (required)
    setError(std::string("expects ") + expects + " \"" + key + "\", got none");
  return nullptr;
}

uint32_t JsonFields::count(const char *key, std::optional<uint32_t> absent) {
  const char *expects = "a whole number from 1";
  const json *value = find(key, !absent, expects);
  if (!value)
    return absent.value_or(1);
  if (value->is_number_unsigned()) {
    uint64_t number = value->get<uint64_t>();
    if (number >= 1 && number <= INT32_MAX)
      return uint32_t(number);
  }
  setError(std::string("expects ") + expects + " \"" + key + "\", got " + value->dump());
  return 1;
}

uint32_t JsonFields::countOrZero(const char *key) {
  const json *value = find(key, /*required=*/true, "a whole number");
  return value && *value == 0 ? 0 : count(key);
}

double JsonFields::positive(const char *key, std::optional<double> absent) {
  const char *expects = "a number above 0";
  const json *value = find(key, !absent, expects);
  if (!value)
    return absent.value_or(1);
  if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() > 0)
    return value->get<double>();
  setError(std::string("expects ") + expects + " \"" + key + "\", got " + value->dump());
  return 1;
}

std::string JsonFields::text(const char *key, std::optional<std::string> absent) {
  const json *value = find(key, !absent, "a string");
  if (!value)
    return absent.value_or("");
  if (value->is_string())
    return value->get<std::string>();
  setError(std::string("expects a string \"") + key + "\", got " + value->dump());
  return "";
}

} // namespace pagefold::report
