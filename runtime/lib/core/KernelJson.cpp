//===- KernelJson.cpp - a kernel of the launch plan as JSON ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelJson.h"

#include "AboutJson.h"

using namespace pagefold::runtime;

namespace {
using Kind = ParameterPlan::Kind;

constexpr std::string_view kWorkersNames[] = {"one", "all"};
constexpr std::string_view kStepNames[] = {"head_panel", "page", "head_page"};

//===----------------------------------------------------------------------===//
// Parameters of a CUDA kernel
//===----------------------------------------------------------------------===//

/// Bits of the keys that a kind of parameter has beside "kind".
enum Keys : unsigned {
  kArg = 1,
  kDim = 2,
  kAdd = 4,
  kOffset = 8,
  kMap = 16,
  kBits = 32,
  kElement = 64,
  kPanels = 128,
  kBoxRows = 256,
  kOf = 512,
};

struct KindRow {
  std::string_view name;
  unsigned keys;
};
/// In the order of ParameterPlan::Kind.
constexpr KindRow kKinds[] = {
    {"map", kArg | kElement | kMap},
    {"pointer", kArg},
    {"extent", kArg | kDim | kAdd},
    {"stride", kArg | kDim},
    {"scalar", kArg},
    {"workspace", kOffset},
    {"error_word", 0},
    {"frame", 0},
    {"constant", kBits},
    {"page_map", kArg | kElement | kPanels | kBoxRows},
    {"page_step", kArg | kPanels | kOf},
};

unsigned keysOf(Kind kind) { return kKinds[static_cast<size_t>(kind)].keys; }

Kind kindFromJson(JsonReader &reader, const Json &json) {
  std::string_view names[std::size(kKinds)];
  for (size_t i = 0; i < std::size(kKinds); ++i)
    names[i] = kKinds[i].name;
  return static_cast<Kind>(reader.oneOf("kind", reader.string(json, "kind"), names));
}

void putNumber(Json &json, const char *key, std::optional<int64_t> value) {
  if (value)
    json[key] = *value;
}

std::optional<int64_t> takeNumber(JsonReader &reader, const Json &json, const char *key) {
  if (!json.is_object() || !json.contains(key))
    return std::nullopt;
  return reader.integer(json, key);
}

Json dimensionToJson(const MapDimension &dimension) {
  Json json = Json::object();
  putNumber(json, "extent", dimension.extent);
  putNumber(json, "extent_of", dimension.extentOf);
  putNumber(json, "stride", dimension.stride);
  putNumber(json, "stride_of", dimension.strideOf);
  return json;
}

MapDimension dimensionFromJson(JsonReader &reader, const Json &json) {
  return {takeNumber(reader, json, "extent"), takeNumber(reader, json, "extent_of"),
          takeNumber(reader, json, "stride"), takeNumber(reader, json, "stride_of")};
}

Json parameterToJson(const ParameterPlan &parameter) {
  unsigned keys = keysOf(parameter.kind);
  Json json = {{"kind", kKinds[static_cast<size_t>(parameter.kind)].name}};
  if (keys & kArg)
    json["arg"] = parameter.arg;
  if (keys & kDim)
    json["dim"] = parameter.dim;
  if ((keys & kAdd) && parameter.add != 0)
    json["add"] = parameter.add;
  if (keys & kOffset)
    json["offset"] = parameter.offset;
  if (keys & kBits)
    json["bits"] = parameter.bits;
  if (keys & kElement)
    json["element"] = dtypeName(parameter.element);
  if (keys & kPanels)
    json["panels"] = parameter.panels;
  if (keys & kBoxRows)
    json["box_rows"] = parameter.boxRows;
  if (keys & kOf)
    json["of"] = kStepNames[static_cast<size_t>(parameter.of)];
  if (keys & kMap) {
    putNumber(json, "workspace", parameter.workspace);
    if (parameter.readOnce)
      json["read_once"] = true;
    json["box"] = parameter.box;
    Json dims = Json::array();
    for (const MapDimension &dimension : parameter.dims)
      dims.push_back(dimensionToJson(dimension));
    json["dims"] = std::move(dims);
  }
  return json;
}

ParameterPlan parameterFromJson(JsonReader &reader, const Json &json) {
  ParameterPlan parameter;
  parameter.kind = kindFromJson(reader, json);
  unsigned keys = keysOf(parameter.kind);
  if (keys & kArg)
    parameter.arg = reader.integer(json, "arg");
  if (keys & kDim)
    parameter.dim = reader.integer(json, "dim");
  if (keys & kAdd)
    parameter.add = takeNumber(reader, json, "add").value_or(0);
  if (keys & kOffset)
    parameter.offset = reader.integer(json, "offset");
  if (keys & kBits)
    parameter.bits = reader.integer(json, "bits");
  if (keys & kElement)
    parameter.element = dtypeFromJson(reader, json, "element");
  if (keys & kPanels)
    parameter.panels = reader.integer(json, "panels");
  if (keys & kBoxRows)
    parameter.boxRows = reader.integer(json, "box_rows");
  if (keys & kOf)
    parameter.of =
        static_cast<ParameterPlan::Step>(reader.oneOf("of", reader.string(json, "of"), kStepNames));
  if (keys & kMap) {
    parameter.workspace = takeNumber(reader, json, "workspace");
    parameter.readOnce = reader.optionalFlag(json, "read_once");
    for (const Json &extent : reader.array(json, "box"))
      parameter.box.push_back(reader.asInteger(extent, "box"));
    for (const Json &dimension : reader.array(json, "dims"))
      parameter.dims.push_back(dimensionFromJson(reader, dimension));
  }
  return parameter;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void cudaToJson(const CudaKernelPlan &cuda, Json &json) {
  json["threads"] = cuda.threads;
  json["shared"] = cuda.shared;
  if (cuda.ctas)
    json["ctas"] = cuda.ctas;
  if (cuda.ctasPerSm)
    json["ctas_per_sm"] = cuda.ctasPerSm;
  if (cuda.early)
    json["early"] = true;
  Json params = Json::array();
  for (const ParameterPlan &parameter : cuda.params)
    params.push_back(parameterToJson(parameter));
  json["params"] = std::move(params);
}

CudaKernelPlan cudaFromJson(JsonReader &reader, const Json &json) {
  CudaKernelPlan cuda;
  cuda.threads = reader.integer(json, "threads");
  cuda.shared = reader.integer(json, "shared");
  cuda.ctas = takeNumber(reader, json, "ctas").value_or(0);
  cuda.ctasPerSm = takeNumber(reader, json, "ctas_per_sm").value_or(0);
  cuda.early = reader.optionalFlag(json, "early");
  for (const Json &parameter : reader.array(json, "params"))
    cuda.params.push_back(parameterFromJson(reader, parameter));
  return cuda;
}
} // namespace

Json pagefold::runtime::kernelToJson(const KernelPlan &kernel) {
  Json json = {{"symbol", kernel.symbol}};
  if (kernel.cuda)
    cudaToJson(*kernel.cuda, json);
  else
    json["workers"] = kWorkersNames[static_cast<size_t>(kernel.workers)];
  if (kernel.about)
    json["about"] = aboutToJson(*kernel.about);
  return json;
}

KernelPlan pagefold::runtime::kernelFromJson(JsonReader &reader, const Json &json) {
  KernelPlan kernel;
  kernel.symbol = reader.string(json, "symbol");
  if (json.is_object() && json.contains("threads"))
    kernel.cuda = cudaFromJson(reader, json);
  else
    kernel.workers = static_cast<KernelPlan::Workers>(
        reader.oneOf("workers", reader.string(json, "workers"), kWorkersNames));
  if (json.is_object() && json.contains("about"))
    kernel.about = aboutFromJson(reader, json["about"]);
  return kernel;
}

DType pagefold::runtime::dtypeFromJson(JsonReader &reader, const Json &json, const char *key) {
  std::string name = reader.string(json, key);
  if (std::optional<DType> known = dtypeFromName(name))
    return *known;
  reader.fail(key, "f32, f16, bf16, f8e4m3, f64, i8, u8, i32, i64 or bool", "'" + name + "'");
  return DType::F32;
}
