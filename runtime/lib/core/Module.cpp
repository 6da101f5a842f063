//===- Module.cpp - a loaded artifact -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Module.h"

#include "../cuda/CudaFunction.h"
#include "HostFunction.h"

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

Result<const Function *> Module::function(std::string_view name) const {
  if (name.empty() && functions_.size() == 1)
    return functions_.front().get();
  std::string names;
  for (const std::unique_ptr<Function> &function : functions_) {
    if (!name.empty() && function->plan().name == name)
      return function.get();
    names += (names.empty() ? "'" : ", '") + function->plan().name + "'";
  }
  if (name.empty())
    return fail(ErrorCode::InvalidArgument,
                "expects the name of a function, as the module has several: " + names);
  return fail(ErrorCode::NotFound,
              "the module has no function '" + std::string(name) + "', it has " + names);
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
