//===- CudaFunction.cpp - a function compiled for a GPU -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFunction.h"

#include "../core/Workspace.h"

#include <algorithm>

using namespace pagefold::runtime;

CudaFunction::CudaFunction(const Plan &plan, const FunctionPlan &function,
                           std::shared_ptr<CudaCode> code)
    : Function(plan, function), code_(std::move(code)), binder_(this->plan(), kDLCUDA) {
  uint64_t maps = 0;
  for (const KernelPlan &kernel : this->plan().kernels) {
    parameters_.emplace_back(this->plan(), kernel, binder_, maps);
    maps += parameters_.back().maps();
  }
}

Result<FunctionInContext *> CudaFunction::here(int device) const {
  Result<CudaDriver> driver = code_->driver();
  if (!driver)
    return tl::unexpected(driver.error());
  Result<void *> context = currentContext(*driver, device);
  if (!context)
    return tl::unexpected(context.error());
  std::lock_guard lock(mutex_);
  std::unique_ptr<FunctionInContext> &ready = contexts_[*context];
  if (ready)
    return ready.get();
  Result<const LoadedCode *> code = code_->in(*context, *driver);
  if (!code)
    return tl::unexpected(code.error());
  auto created = FunctionInContext::create(plan(), *driver, *context, **code);
  if (!created)
    return tl::unexpected(created.error());
  ready = std::move(*created);
  return ready.get();
}

Status CudaFunction::initWorkspace(void *workspace, size_t size, void *stream) const {
  if (Status status = checkWorkspace(plan(), workspace, size); !status)
    return status;
  Result<FunctionInContext *> function = here(/*device=*/-1);
  if (!function)
    return tl::unexpected(function.error());
  return (*function)->initWorkspace(workspace, stream);
}

Status CudaFunction::launch(std::span<const DLTensor *const> args, void *workspace, size_t size,
                            void *stream) const {
  BoundArguments &bound = boundArguments();
  if (Status status = binder_.bind(args, bound); !status)
    return status;
  if (workspace) {
    if (Status status = checkWorkspace(plan(), workspace, size); !status)
      return status;
    if (Status status = checkApart(plan(), bound, workspace); !status)
      return status;
  }
  Result<FunctionInContext *> found = here(bound.device);
  if (!found)
    return tl::unexpected(found.error());
  FunctionInContext &function = **found;
  if (bound.device >= 0 && bound.device != function.ordinal())
    return fail(
        ErrorCode::InvalidArgument,
        "function '" + plan().name + "', argument " + std::to_string(bound.deviceOf) + " '" +
            plan().args[bound.deviceOf].name + "': expects a tensor on device " +
            std::to_string(function.ordinal()) + ", that of the current CUDA context, got device " +
            std::to_string(bound.device) + "; make the tensors' device current for the launch");
  if (Status status = function.takeError("; an earlier launch reported this and nothing has been "
                                         "launched now: launch again");
      !status)
    return status;
  auto *memory = static_cast<std::byte *>(workspace);
  if (!memory) {
    Result<std::byte *> own = function.ownWorkspace(stream);
    if (!own)
      return tl::unexpected(own.error());
    memory = *own;
  }
  return function.launch(parameters_, bound, memory, stream);
}

Status CudaFunction::check() const {
  std::optional<CudaDriver> driver = code_->openDriver();
  if (!driver)
    return {}; // nothing has been launched
  Result<void *> context = currentContext(*driver, /*ordinal=*/-1);
  if (!context)
    return tl::unexpected(context.error());
  std::lock_guard lock(mutex_);
  auto found = contexts_.find(*context);
  return found != contexts_.end() && found->second ? found->second->takeError("") : Status();
}

Status CudaFunction::addDevice(int device, LaunchFacts &facts) const {
  Result<FunctionInContext *> function = here(device);
  if (!function)
    return tl::unexpected(function.error());
  Result<std::vector<RegisterUse>> registers = (*function)->registers();
  if (!registers)
    return tl::unexpected(registers.error());
  facts.registers = std::move(*registers);
  facts.multiprocessors = (*function)->multiprocessors();
  return {};
}

Status CudaFunction::read(void *to, const std::byte *from, size_t size) const {
  Result<CudaDriver> driver = code_->driver();
  if (!driver)
    return tl::unexpected(driver.error());
  return copyToHost(*driver, to, from, size);
}

Result<std::vector<std::unique_ptr<Function>>>
pagefold::runtime::loadCudaFunctions(const Artifact &artifact) {
  auto section = std::find_if(artifact.code.begin(), artifact.code.end(), [](const CodeSection &s) {
    return s.kind == "ptx" || s.kind == "cubin";
  });
  if (section == artifact.code.end())
    return fail(
        ErrorCode::BadInput,
        "cannot load the artifact: target 'cuda' expects code of kind 'ptx' or 'cubin', got none");
  auto code = std::make_shared<CudaCode>(artifact.plan.target, section->bytes);
  std::vector<std::unique_ptr<Function>> functions;
  for (const FunctionPlan &plan : artifact.plan.functions)
    functions.push_back(std::make_unique<CudaFunction>(artifact.plan, plan, code));
  return functions;
}
