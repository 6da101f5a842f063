//===- JsonReader.h - typed fields of JSON ----------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_JSONREADER_H
#define PAGEFOLD_RUNTIME_LIB_CORE_JSONREADER_H

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pagefold::runtime {

using Json = nlohmann::ordered_json; // keys stay in the order of docs/artifact.md

/// Reads typed fields and remembers the first that is not what is expected; what it returns after
/// that is a default, so that callers ask once at the end. Never throws.
class JsonReader {
public:
  const std::string &error() const { return error_; }
  bool failed() const { return !error_.empty(); }

  const Json *field(const Json &object, const char *key) {
    if (!object.is_object())
      return expect(key, "an object around it", &object);
    auto it = object.find(key);
    return it == object.end() ? expect(key, "a value", nullptr) : &*it;
  }

  std::string string(const Json &object, const char *key) {
    const Json *value = field(object, key);
    if (value && value->is_string())
      return value->get_ref<const std::string &>();
    expect(key, "a string", value);
    return {};
  }

  int64_t integer(const Json &object, const char *key) {
    const Json *value = field(object, key);
    return value ? asInteger(*value, key) : 0;
  }

  int64_t asInteger(const Json &value, std::string_view key) {
    constexpr auto max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value.is_number_unsigned() && value.get<uint64_t>() <= max)
      return static_cast<int64_t>(value.get<uint64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned())
      return value.get<int64_t>();
    expect(key, "an integer of 64 bits", &value);
    return 0;
  }

  bool optionalFlag(const Json &object, const char *key) {
    auto it = object.find(key);
    if (it == object.end())
      return false;
    if (it->is_boolean())
      return it->get<bool>();
    expect(key, "true or false", &*it);
    return false;
  }

  /// An array, or an empty one after an error.
  const Json &array(const Json &object, const char *key) {
    static const Json empty = Json::array();
    const Json *value = field(object, key);
    if (value && value->is_array())
      return *value;
    expect(key, "an array", value);
    return empty;
  }

  /// Index of a field's value in a list of names.
  template <size_t N>
  size_t oneOf(std::string_view key, const std::string &value, const std::string_view (&names)[N]) {
    for (size_t i = 0; i < N; ++i)
      if (names[i] == value)
        return i;
    std::string all;
    for (std::string_view name : names)
      all += (all.empty() ? "" : " or ") + std::string(name);
    fail(key, all, "'" + value + "'");
    return 0;
  }

  void fail(std::string_view key, std::string_view expected, std::string_view got) {
    if (!failed())
      error_ = "the plan's '" + std::string(key) + "' expects " + std::string(expected) + ", got " +
               std::string(got);
  }

private:
  const Json *expect(std::string_view key, std::string_view expected, const Json *got) {
    fail(key, expected, got ? got->type_name() : "nothing");
    return nullptr;
  }

  std::string error_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_JSONREADER_H
