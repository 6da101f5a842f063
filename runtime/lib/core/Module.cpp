//===- Module.cpp - a loaded artifact -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Module.h"

#include "../cuda/CudaFunction.h"
#include "HostFunction.h"

#include <algorithm>
#include <cstring>

using namespace pagefold::runtime;

/// Makes the functions of an artifact; they keep its code.
using Loader = Result<std::vector<std::unique_ptr<Function>>> (*)(const Artifact &artifact);

static Loader loaderOf(std::string_view kind) {
  if (kind == "host")
    return loadHostFunctions;
  return kind == "cuda" ? loadCudaFunctions : nullptr;
}

Result<std::unique_ptr<Module>> Module::load(std::string_view bytes) {
  Result<Artifact> artifact = parse(bytes);
  if (!artifact)
    return tl::unexpected(artifact.error());
  const std::string &kind = artifact->plan.target.kind;
  Loader load = loaderOf(kind);
  if (!load)
    return fail(ErrorCode::Unsupported,
                "cannot load the artifact: this runtime runs targets 'host' and 'cuda', got '" +
                    kind + "'; compile with one of them");
  auto functions = load(*artifact);
  if (!functions)
    return tl::unexpected(functions.error());
  return std::unique_ptr<Module>(new Module(std::move(*functions)));
}

/// Distinct names in the plan's order.
using Names = std::vector<std::string_view>;

static void addTo(Names &names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(name);
}

static std::string quoted(const Names &names) {
  std::string text;
  for (std::string_view name : names)
    text.append(text.empty() ? "'" : ", '").append(name) += "'";
  return text;
}

Result<const Function *> Module::function(std::string_view name) const {
  if (name.empty() && functions_.size() == 1)
    return functions_.front().get();
  for (const std::unique_ptr<Function> &function : functions_)
    if (!name.empty() && function->plan().name == name)
      return function.get();
  Names names, variants;
  for (const std::unique_ptr<Function> &function : functions_) {
    const FunctionPlan &plan = function->plan();
    addTo(names, plan.name);
    if (plan.graph == name)
      addTo(variants, plan.name);
  }
  if (name.empty())
    return fail(ErrorCode::InvalidArgument,
                "expects the name of a function, as the module has several: " + quoted(names));
  if (!variants.empty())
    return fail(ErrorCode::NotFound,
                "the graph '" + std::string(name) + "' was compiled for several maxima, as " +
                    quoted(variants) + "; take one of these, or ask for the one for a batch");
  return fail(ErrorCode::NotFound,
              "the module has no function '" + std::string(name) + "', it has " + quoted(names));
}

namespace {
/// What of a batch is above a function's maxima.
struct Excess {
  const char *name;
  int64_t value, bound;
};
} // namespace

static std::optional<Excess> excess(const FunctionPlan &plan, const BatchExtent &extent) {
  const int64_t tokens = extent.tokens ? extent.tokens : extent.batch * extent.qLen;
  for (auto [name, value] : {std::pair{"batch", extent.batch}, std::pair{"q_len", extent.qLen},
                             std::pair{"kv_len", extent.kvLen}, std::pair{"tokens", tokens}}) {
    auto bound = plan.bounds.find(name);
    if (bound != plan.bounds.end() && value > bound->second)
      return Excess{name, value, bound->second};
  }
  return std::nullopt;
}

Result<const Function *> Module::functionFor(std::string_view graph,
                                             const BatchExtent &extent) const {
  auto isWanted = [&](const std::unique_ptr<Function> &function) {
    return graph.empty() || function->plan().graphName() == graph;
  };
  auto graphs = [&] {
    Names names;
    for (const std::unique_ptr<Function> &function : functions_)
      addTo(names, function->plan().graphName());
    return names;
  };
  if (graph.empty() && graphs().size() > 1)
    return fail(ErrorCode::InvalidArgument,
                "expects the name of a graph, as the module has several: " + quoted(graphs()));
  if (std::none_of(functions_.begin(), functions_.end(), isWanted))
    return fail(ErrorCode::NotFound,
                "the module has no graph '" + std::string(graph) + "', it has " + quoted(graphs()));
  if (extent.batch < 0 || extent.qLen < 0 || extent.kvLen < 0 || extent.tokens < 0 ||
      (extent.qLen && extent.batch > INT64_MAX / extent.qLen))
    return fail(ErrorCode::InvalidArgument,
                "expects batch, q_len, kv_len and tokens of at least 0 that can be multiplied");
  // Engines ask at every step: sentences are made where none holds the batch.
  for (const std::unique_ptr<Function> &function : functions_)
    if (isWanted(function) && !excess(function->plan(), extent))
      return function.get();
  std::string reasons;
  for (const std::unique_ptr<Function> &function : functions_)
    if (isWanted(function)) {
      Excess above = *excess(function->plan(), extent);
      reasons += std::string(reasons.empty() ? "" : ", ") + above.name + " " +
                 std::to_string(above.value) + " > " + std::to_string(above.bound) + " of '" +
                 function->plan().name + "'";
    }
  return fail(ErrorCode::InvalidArgument,
              "no variant holds the batch: " + reasons + "; declare larger maxima (attn.bounds)");
}

Result<TileCounters> Function::counters(const void *workspace) const {
  if (!plan_.counters)
    return fail(ErrorCode::Unsupported, "function '" + plan_.name +
                                            "' was compiled without counters; compile it with the "
                                            "option counters");
  if (!workspace)
    return fail(ErrorCode::InvalidArgument,
                "the counters of '" + plan_.name + "' expect the workspace of a launch, got null");
  TileCounters counters;
  const std::byte *place = static_cast<const std::byte *>(workspace) + *plan_.counters;
  if (Status status = read(&counters, place, sizeof(counters)); !status)
    return tl::unexpected(status.error());
  return counters;
}

Result<std::string> Function::explain(bool withLaunch, std::span<const DLTensor *const> args,
                                      double milliseconds, ExplainFormat format) const {
  if (!withLaunch)
    return explainFunction(module_, plan_, nullptr, format);
  LaunchFacts facts;
  facts.args = args;
  facts.milliseconds = milliseconds;
  facts.read = [this](void *to, const DLTensor &tensor, size_t offset, size_t size) -> Status {
    const std::byte *from =
        static_cast<const std::byte *>(tensor.data) + tensor.byte_offset + offset;
    if (tensor.device.device_type != kDLCPU)
      return read(to, from, size);
    std::memcpy(to, from, size);
    return {};
  };
  for (const DLTensor *tensor : args)
    if (tensor && tensor->device.device_type == kDLCUDA) {
      if (Status status = addDevice(tensor->device.device_id, facts); !status)
        return tl::unexpected(status.error());
      break;
    }
  return explainFunction(module_, plan_, &facts, format);
}

Status Function::read(void *to, const std::byte *from, size_t size) const {
  std::memcpy(to, from, size);
  return {};
}
