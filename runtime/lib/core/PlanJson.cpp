//===- PlanJson.cpp - the launch plan as JSON -----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanJson.h"

#include "AboutJson.h"
#include "JsonReader.h"
#include "KernelJson.h"

#include <charconv>

using namespace pagefold::runtime;

namespace {
constexpr std::string_view kAccessNames[] = {"read", "write", "readwrite"};

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
  if (arg.align != 1)
    json["align"] = arg.align;
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
    kernels.push_back(kernelToJson(kernel));
  return kernels;
}

Json offsetToJson(std::optional<int64_t> offset) { return offset ? Json(*offset) : Json(nullptr); }

Json functionToJson(const FunctionPlan &function) {
  Json args = Json::array();
  for (const ArgumentPlan &arg : function.args)
    args.push_back(argumentToJson(arg));
  Json json = {{"name", function.name},
               {"bounds", function.bounds},
               {"args", std::move(args)},
               {"workspace", workspaceToJson(function)},
               {"scratch", function.scratchSize},
               {"error_word", offsetToJson(function.errorWord)},
               {"counters", offsetToJson(function.counters)},
               {"kernels", kernelsToJson(function)}};
  if (!function.graph.empty())
    json["graph"] = function.graph;
  for (const Remark &remark : function.remarks)
    json["remarks"].push_back(remarkToJson(remark));
  return json;
}

Json targetToJson(const TargetPlan &target) {
  Json json = {{"kind", target.kind},
               {"triple", target.triple},
               {"cpu", target.cpu},
               {"features", target.features}};
  if (target.machine)
    json["machine"] = machineToJson(*target.machine);
  return json;
}

/// Text for a file or a person; bytes that are not UTF-8 are replaced, as dump() would throw.
std::string print(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Extent symbolFromText(JsonReader &reader, const std::string &text) {
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

Extent extentFromJson(JsonReader &reader, const Json &json) {
  if (json.is_null())
    return Extent::any();
  if (json.is_string())
    return symbolFromText(reader, json.get_ref<const std::string &>());
  return Extent::fixed(reader.asInteger(json, "shape"));
}

ArgumentPlan argumentFromJson(JsonReader &reader, const Json &json) {
  ArgumentPlan arg;
  arg.name = reader.string(json, "name");
  arg.dtype = dtypeFromJson(reader, json, "dtype");
  for (const Json &extent : reader.array(json, "shape"))
    arg.shape.push_back(extentFromJson(reader, extent));
  if (reader.failed())
    return arg;
  if (json.contains("access")) // what does not say is only read
    arg.access =
        static_cast<Access>(reader.oneOf("access", reader.string(json, "access"), kAccessNames));
  arg.scalar = reader.optionalFlag(json, "scalar");
  arg.contiguous = reader.optionalFlag(json, "contiguous");
  if (json.contains("align"))
    arg.align = reader.integer(json, "align");
  return arg;
}

void workspaceFromJson(JsonReader &reader, const Json &json, FunctionPlan &function) {
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

std::optional<int64_t> offsetFromJson(JsonReader &reader, const Json &json, const char *key) {
  const Json *offset = reader.field(json, key);
  if (!offset || offset->is_null())
    return std::nullopt;
  return reader.asInteger(*offset, key);
}

FunctionPlan functionFromJson(JsonReader &reader, const Json &json) {
  FunctionPlan function;
  function.name = reader.string(json, "name");
  if (json.is_object() && json.contains("graph"))
    function.graph = reader.string(json, "graph");
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
  function.errorWord = offsetFromJson(reader, json, "error_word");
  function.counters = offsetFromJson(reader, json, "counters");
  for (const Json &kernel : reader.array(json, "kernels"))
    function.kernels.push_back(kernelFromJson(reader, kernel));
  if (json.is_object() && json.contains("remarks"))
    for (const Json &remark : reader.array(json, "remarks"))
      function.remarks.push_back(remarkFromJson(reader, remark));
  return function;
}

std::vector<std::string> stringsFromJson(JsonReader &reader, const Json &json, const char *key) {
  std::vector<std::string> strings;
  for (const Json &entry : reader.array(json, key)) {
    if (entry.is_string())
      strings.push_back(entry.get_ref<const std::string &>());
    else
      reader.fail(key, "strings", entry.type_name());
  }
  return strings;
}

TargetPlan targetFromJson(JsonReader &reader, const Json &json) {
  const Json *target = reader.field(json, "target");
  if (!target)
    return {};
  TargetPlan plan{reader.string(*target, "kind"), reader.string(*target, "triple"),
                  reader.string(*target, "cpu"), stringsFromJson(reader, *target, "features")};
  if (target->is_object() && target->contains("machine"))
    plan.machine = machineFromJson(reader, (*target)["machine"]);
  return plan;
}

CodePlace codeFromJson(JsonReader &reader, const Json &json) {
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
  Json json = {{"version", kArtifactVersion},
               {"compiler", plan.compiler},
               {"target", targetToJson(plan.target)},
               {"code", std::move(sections)}};
  if (!plan.options.empty())
    json["options"] = plan.options;
  json["functions"] = std::move(functions);
  return print(json);
}

Result<ParsedPlan> pagefold::runtime::planFromJson(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return fail(ErrorCode::BadInput, "its plan expects JSON, got something else");
  JsonReader reader;
  ParsedPlan parsed;
  if (int64_t version = reader.integer(json, "version"); version != kArtifactVersion)
    reader.fail("version", std::to_string(kArtifactVersion), std::to_string(version));
  parsed.plan.compiler = reader.string(json, "compiler");
  parsed.plan.target = targetFromJson(reader, json);
  if (json.is_object() && json.contains("options"))
    parsed.plan.options = stringsFromJson(reader, json, "options");
  for (const Json &section : reader.array(json, "code"))
    parsed.code.push_back(codeFromJson(reader, section));
  for (const Json &function : reader.array(json, "functions"))
    parsed.plan.functions.push_back(functionFromJson(reader, function));
  if (reader.failed())
    return fail(ErrorCode::BadInput, reader.error());
  return parsed;
}

/// What launches a kernel: what explains it is told by explainFunction().
static Json launchedKernels(const FunctionPlan &function) {
  Json kernels = kernelsToJson(function);
  for (Json &kernel : kernels)
    kernel.erase("about");
  return kernels;
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
    json["align"] = arg.align;
    (arg.access == Access::Write ? results : args).push_back(std::move(json));
  }
  return print({{"name", function.name},
                {"graph", function.graphName()},
                {"compiler", plan.compiler},
                {"target", targetToJson(plan.target)},
                {"bounds", function.bounds},
                {"args", std::move(args)},
                {"results", std::move(results)},
                {"workspace", workspaceToJson(function)},
                {"scratch", function.scratchSize},
                {"counters", offsetToJson(function.counters)},
                {"kernels", launchedKernels(function)}});
}
