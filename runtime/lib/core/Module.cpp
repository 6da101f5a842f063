//===- Module.cpp - a loaded artifact -------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Module.h"

#include "HostCode.h"
#include "HostFunction.h"
#include "HostTarget.h"

#include <cstring>

using namespace pagefold::runtime;

class Module::Code {
public:
  explicit Code(HostCode host) : host(std::move(host)) {}
  HostCode host;
};

namespace {
Result<std::string_view> findSharedObject(const Artifact &artifact) {
  for (const CodeSection &section : artifact.code)
    if (section.kind == "elf-shared")
      return section.bytes;
  return fail(
      ErrorCode::BadInput,
      "cannot load the artifact: target 'host' expects code of kind 'elf-shared', got none");
}
} // namespace

Module::Module(std::unique_ptr<Code> code, std::vector<std::unique_ptr<Function>> functions)
    : code_(std::move(code)), functions_(std::move(functions)) {}

Module::~Module() = default;

Result<std::unique_ptr<Module>> Module::load(std::string_view bytes) {
  Result<Artifact> artifact = parse(bytes);
  if (!artifact)
    return tl::unexpected(artifact.error());
  if (Status status = checkHostTarget(artifact->plan.target); !status)
    return tl::unexpected(status.error());
  Result<std::string_view> elf = findSharedObject(*artifact);
  if (!elf)
    return tl::unexpected(elf.error());
  Result<HostCode> host = HostCode::load(*elf);
  if (!host)
    return tl::unexpected(host.error());

  auto code = std::make_unique<Code>(std::move(*host));
  std::vector<std::unique_ptr<Function>> functions;
  for (const FunctionPlan &plan : artifact->plan.functions) {
    Result<std::unique_ptr<Function>> function =
        HostFunction::create(artifact->plan, plan, code->host);
    if (!function)
      return tl::unexpected(function.error());
    functions.push_back(std::move(*function));
  }
  return std::unique_ptr<Module>(new Module(std::move(code), std::move(functions)));
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
  std::memcpy(&counters, static_cast<const std::byte *>(workspace) + *plan_.counters,
              sizeof(counters));
  return counters;
}
