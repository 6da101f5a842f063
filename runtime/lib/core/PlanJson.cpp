//===- PlanJson.cpp - the launch plan as JSON -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanJson.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

using namespace pagefold::runtime;
using Json = nlohmann::ordered_json; // keys stay in the order of docs/artifact.md

namespace {
constexpr std::string_view kAccessNames[] = {"read", "write", "readwrite"};
constexpr std::string_view kWorkersNames[] = {"one", "all"};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Json extentToJson(const Extent &extent) {
  switch (extent.kind) {
  case Extent::Kind::Fixed:
    return extent.value;
  case Extent::Kind::Symbol:
    return extent.value == 0 ? extent.symbol : extent.symbol + "+" + std::to_string(extent.value);
  case Extent::Kind::Any:
    break;
  }
  return nullptr;
}

Json argumentToJson(const ArgumentPlan &arg) {
  Json shape = Json::array();
  for (const Extent &extent : arg.shape)
    shape.push_back(extentToJson(extent));
  Json json = {{"name", arg.name},
               {"dtype", dtypeName(arg.dtype)},
               {"shape", std::move(shape)},
               {"access", kAccessNames[static_cast<size_t>(arg.access)]}};
  if (arg.scalar)
    json["scalar"] = true;
  if (arg.contiguous)
    json["contiguous"] = true;
  return json;
}

Json workspaceToJson(const FunctionPlan &function) {
  Json init = Json::array();
  for (const WorkspaceFill &fill : function.workspaceInit)
    init.push_back({{"offset", fill.offset}, {"size", fill.size}, {"byte", fill.byte}});
  return {{"size", function.workspaceSize}, {"init", std::move(init)}};
}

Json kernelsToJson(const FunctionPlan &function) {
  Json kernels = Json::array();
  for (const KernelPlan &kernel : function.kernels)
    kernels.push_back({{"symbol", kernel.symbol},
                       {"workers", kWorkersNames[static_cast<size_t>(kernel.workers)]}});
  return kernels;
}

Json countersToJson(const FunctionPlan &function) {
  return function.counters ? Json(*function.counters) : Json(nullptr);
}

Json functionToJson(const FunctionPlan &function) {
  Json args = Json::array();
  for (const ArgumentPlan &arg : function.args)
    args.push_back(argumentToJson(arg));
  return {{"name", function.name},
          {"bounds", function.bounds},
          {"args", std::move(args)},
          {"workspace", workspaceToJson(function)},
          {"scratch", function.scratchSize},
          {"error_word", function.errorWord},
          {"counters", countersToJson(function)},
          {"kernels", kernelsToJson(function)}};
}

Json targetToJson(const TargetPlan &target) {
  return {{"kind", target.kind},
          {"triple", target.triple},
          {"cpu", target.cpu},
          {"features", target.features}};
}

/// Text for a file or a person; bytes that are not UTF-8 are replaced, as dump() would throw.
std::string print(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads typed fields and remembers the first that is not what is expected; what it returns after
/// that is a default, so that callers ask once at the end. Never throws.
class Reader {
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

Extent symbolFromText(Reader &reader, const std::string &text) {
  size_t plus = text.find('+');
  Extent extent = Extent::symbolic(text.substr(0, plus));
  if (plus == std::string::npos)
    return extent;
  const char *first = text.data() + plus + 1, *last = text.data() + text.size();
  auto [end, code] = std::from_chars(first, last, extent.value);
  if (code != std::errc() || end != last || extent.value < 0)
    reader.fail("shape", "a symbol and a constant such as 'batch+1'", "'" + text + "'");
  return extent;
}

Extent extentFromJson(Reader &reader, const Json &json) {
  if (json.is_null())
    return Extent::any();
  if (json.is_string())
    return symbolFromText(reader, json.get_ref<const std::string &>());
  return Extent::fixed(reader.asInteger(json, "shape"));
}

ArgumentPlan argumentFromJson(Reader &reader, const Json &json) {
  ArgumentPlan arg;
  arg.name = reader.string(json, "name");
  std::string dtype = reader.string(json, "dtype");
  if (std::optional<DType> known = dtypeFromName(dtype))
    arg.dtype = *known;
  else
    reader.fail("dtype", "f32, f16, bf16, f64, i8, u8, i32, i64 or bool", "'" + dtype + "'");
  for (const Json &extent : reader.array(json, "shape"))
    arg.shape.push_back(extentFromJson(reader, extent));
  if (reader.failed())
    return arg;
  if (json.contains("access")) // what does not say is only read
    arg.access =
        static_cast<Access>(reader.oneOf("access", reader.string(json, "access"), kAccessNames));
  arg.scalar = reader.optionalFlag(json, "scalar");
  arg.contiguous = reader.optionalFlag(json, "contiguous");
  return arg;
}

void workspaceFromJson(Reader &reader, const Json &json, FunctionPlan &function) {
  const Json *workspace = reader.field(json, "workspace");
  if (!workspace)
    return;
  function.workspaceSize = reader.integer(*workspace, "size");
  for (const Json &entry : reader.array(*workspace, "init")) {
    WorkspaceFill fill{reader.integer(entry, "offset"), reader.integer(entry, "size"), 0};
    int64_t byte = reader.integer(entry, "byte");
    if (byte < 0 || byte > UINT8_MAX)
      reader.fail("byte", "0 to 255", std::to_string(byte));
    fill.byte = static_cast<uint8_t>(byte);
    function.workspaceInit.push_back(fill);
  }
}

FunctionPlan functionFromJson(Reader &reader, const Json &json) {
  FunctionPlan function;
  function.name = reader.string(json, "name");
  const Json *bounds = reader.field(json, "bounds");
  if (bounds && bounds->is_object()) {
    for (const auto &[name, bound] : bounds->items())
      function.bounds[name] = reader.asInteger(bound, name);
  } else {
    reader.fail("bounds", "an object", bounds ? bounds->type_name() : "nothing");
  }
  for (const Json &arg : reader.array(json, "args"))
    function.args.push_back(argumentFromJson(reader, arg));
  workspaceFromJson(reader, json, function);
  function.scratchSize = reader.integer(json, "scratch");
  function.errorWord = reader.integer(json, "error_word");
  if (const Json *counters = reader.field(json, "counters"); counters && !counters->is_null())
    function.counters = reader.asInteger(*counters, "counters");
  for (const Json &kernel : reader.array(json, "kernels")) {
    size_t workers = reader.oneOf("workers", reader.string(kernel, "workers"), kWorkersNames);
    function.kernels.push_back(
        {reader.string(kernel, "symbol"), static_cast<KernelPlan::Workers>(workers)});
  }
  return function;
}

TargetPlan targetFromJson(Reader &reader, const Json &json) {
  const Json *target = reader.field(json, "target");
  if (!target)
    return {};
  TargetPlan plan{reader.string(*target, "kind"),
                  reader.string(*target, "triple"),
                  reader.string(*target, "cpu"),
                  {}};
  for (const Json &feature : reader.array(*target, "features")) {
    if (feature.is_string())
      plan.features.push_back(feature.get_ref<const std::string &>());
    else
      reader.fail("features", "strings", feature.type_name());
  }
  return plan;
}

CodePlace codeFromJson(Reader &reader, const Json &json) {
  int64_t offset = reader.integer(json, "offset"), size = reader.integer(json, "size");
  if (offset < 0 || size < 0)
    reader.fail("code", "an offset and a size of at least 0",
                std::to_string(offset) + " and " + std::to_string(size));
  return {reader.string(json, "kind"), static_cast<uint64_t>(offset), static_cast<uint64_t>(size)};
}
} // namespace

std::vector<CodePlace> pagefold::runtime::placeCode(std::span<const CodeSection> code,
                                                    uint64_t alignment) {
  std::vector<CodePlace> places;
  uint64_t offset = 0;
  for (const CodeSection &section : code) {
    places.push_back({section.kind, offset, section.bytes.size()});
    offset = (offset + section.bytes.size() + alignment - 1) / alignment * alignment;
  }
  return places;
}

std::string pagefold::runtime::planToJson(const Plan &plan, const std::vector<CodePlace> &code) {
  Json sections = Json::array();
  for (const CodePlace &place : code)
    sections.push_back({{"kind", place.kind}, {"offset", place.offset}, {"size", place.size}});
  Json functions = Json::array();
  for (const FunctionPlan &function : plan.functions)
    functions.push_back(functionToJson(function));
  return print({{"version", kArtifactVersion},
                {"compiler", plan.compiler},
                {"target", targetToJson(plan.target)},
                {"code", std::move(sections)},
                {"functions", std::move(functions)}});
}

Result<ParsedPlan> pagefold::runtime::planFromJson(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return fail(ErrorCode::BadInput, "its plan expects JSON, got something else");
  Reader reader;
  ParsedPlan parsed;
  if (int64_t version = reader.integer(json, "version"); version != kArtifactVersion)
    reader.fail("version", std::to_string(kArtifactVersion), std::to_string(version));
  parsed.plan.compiler = reader.string(json, "compiler");
  parsed.plan.target = targetFromJson(reader, json);
  for (const Json &section : reader.array(json, "code"))
    parsed.code.push_back(codeFromJson(reader, section));
  for (const Json &function : reader.array(json, "functions"))
    parsed.plan.functions.push_back(functionFromJson(reader, function));
  if (reader.failed())
    return fail(ErrorCode::BadInput, reader.error());
  return parsed;
}

std::string pagefold::runtime::describe(const Plan &plan, const FunctionPlan &function) {
  Json args = Json::array(), results = Json::array();
  for (const ArgumentPlan &arg : function.args) {
    Json json = argumentToJson(arg);
    json["symbolic_shape"] = json["shape"];
    for (Json &extent : json["shape"])
      if (!extent.is_number())
        extent = nullptr;
    json["scalar"] = arg.scalar;
    json["contiguous"] = arg.contiguous;
    (arg.access == Access::Write ? results : args).push_back(std::move(json));
  }
  return print({{"name", function.name},
                {"compiler", plan.compiler},
                {"target", targetToJson(plan.target)},
                {"bounds", function.bounds},
                {"args", std::move(args)},
                {"results", std::move(results)},
                {"workspace", workspaceToJson(function)},
                {"scratch", function.scratchSize},
                {"counters", countersToJson(function)},
                {"kernels", kernelsToJson(function)}});
}
