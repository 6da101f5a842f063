//===- FunctionInContext.cpp - a function on one GPU ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionInContext.h"

#include "../core/AlignedBuffer.h"
#include "../core/ErrorWord.h"
#include "DriverApi.h"

using namespace pagefold::runtime;

//===----------------------------------------------------------------------===//
// Made ready, released
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<FunctionInContext>> FunctionInContext::create(const FunctionPlan &function,
                                                                     const CudaDriver &driver,
                                                                     void *context,
                                                                     const LoadedCode &code) {
  Result<MappedErrorWord> errorWord = MappedErrorWord::create(driver);
  if (!errorWord)
    return tl::unexpected(errorWord.error());
  std::unique_ptr<FunctionInContext> ready(
      new FunctionInContext(function, driver, context, code.device, std::move(*errorWord)));
  for (const KernelPlan &kernel : function.kernels)
    if (Status status = ready->addKernel(kernel, code); !status)
      return tl::unexpected(status.error());
  return ready;
}

Status FunctionInContext::addKernel(const KernelPlan &plan, const LoadedCode &code) {
  const CudaKernelPlan &cuda = *plan.cuda;
  if (cuda.shared > code.device.sharedBytes)
    return fail(ErrorCode::Unsupported,
                "kernel '" + plan.symbol + "' expects " + std::to_string(cuda.shared) +
                    " bytes of shared memory, this GPU has " +
                    std::to_string(code.device.sharedBytes) + "; compile with smaller tiles");
  Result<CudaKernel> kernel =
      code.module.kernel(plan.symbol, {static_cast<uint32_t>(cuda.threads),
                                       static_cast<uint32_t>(cuda.shared), cuda.early});
  if (!kernel)
    return tl::unexpected(kernel.error());
  int64_t ctas = cuda.ctas ? cuda.ctas : cuda.ctasPerSm * code.device.multiprocessors;
  kernels_.push_back({std::move(*kernel), static_cast<uint32_t>(ctas)});
  return {};
}

FunctionInContext::~FunctionInContext() {
  ContextScope scope(driver_, context_);
  workspaces_.clear();
  errorWord_.reset();
}

//===----------------------------------------------------------------------===//
// Workspaces and errors
//===----------------------------------------------------------------------===//

Status FunctionInContext::clear(const void *address, uint8_t byte, size_t size,
                                CudaStream stream) const {
  if (size == 0)
    return {};
  if (int code =
          driver_.api().cuMemsetD8Async(reinterpret_cast<uintptr_t>(address), byte, size, stream))
    return tl::unexpected(
        driver_.error("function '" + function_.name + "': cannot fill its workspace", code));
  return {};
}

Status FunctionInContext::initWorkspace(void *workspace, CudaStream stream) const {
  for (const WorkspaceFill &fill : function_.workspaceInit)
    if (Status status = clear(static_cast<std::byte *>(workspace) + fill.offset, fill.byte,
                              static_cast<size_t>(fill.size), stream);
        !status)
      return status;
  return {};
}

Result<std::byte *> FunctionInContext::ownWorkspace(CudaStream stream) {
  std::lock_guard lock(mutex_);
  auto found = workspaces_.find(stream);
  if (found != workspaces_.end())
    return found->second.data();
  Result<DeviceMemory> memory =
      DeviceMemory::allocate(driver_, static_cast<size_t>(function_.workspaceSize));
  if (!memory)
    return fail(memory.error().code(), "function '" + function_.name +
                                           "', for its workspace: " + memory.error().message());
  if (Status status = initWorkspace(memory->data(), stream); !status)
    return tl::unexpected(status.error());
  return workspaces_.emplace(stream, std::move(*memory)).first->second.data();
}

Result<std::vector<RegisterUse>> FunctionInContext::registers() const {
  std::vector<RegisterUse> uses;
  for (const Kernel &kernel : kernels_) {
    Result<RegisterUse> use = kernel.kernel.registers();
    if (!use)
      return tl::unexpected(use.error());
    uses.push_back(*use);
  }
  return uses;
}

Status FunctionInContext::takeError(const std::string &consequence) {
  std::lock_guard lock(mutex_);
  std::optional<ErrorWord> word = errorWord_->take();
  if (!word)
    return {};
  // The tensors of that launch may be gone: their table cannot be searched for a bad page id.
  Error error = errorOf(*word, function_, {});
  return fail(error.code(), error.message() + consequence);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// Values of all kernels' parameters, kept by the thread so that launches do not allocate.
struct LaunchSpace {
  AlignedBuffer values;
  std::vector<void *> pointers;
};
thread_local LaunchSpace launchSpace;

size_t paddedBytes(const KernelParameters &kernel) { return (kernel.bytes() + 63) / 64 * 64; }
} // namespace

Status FunctionInContext::launch(const std::vector<KernelParameters> &parameters,
                                 const BoundArguments &bound, std::byte *workspace,
                                 CudaStream stream) {
  size_t bytes = 0, count = 0;
  for (const KernelParameters &kernel : parameters) {
    bytes += paddedBytes(kernel);
    count += kernel.count();
  }
  if (!launchSpace.values.reserve(bytes))
    return fail(ErrorCode::OutOfCapacity, "no memory for a launch's parameters");
  launchSpace.pointers.resize(count);

  // All values first: where one is refused nothing is launched.
  LaunchValues values{bound.words, reinterpret_cast<uintptr_t>(workspace),
                      errorWord_->deviceAddress()};
  {
    std::lock_guard lock(mutex_); // of the maps
    std::byte *buffer = launchSpace.values.data();
    void **pointers = launchSpace.pointers.data();
    for (const KernelParameters &kernel : parameters) {
      if (Status status = kernel.fill(driver_, values, maps_, buffer, pointers); !status)
        return status;
      buffer += paddedBytes(kernel);
      pointers += kernel.count();
    }
  }
  if (function_.counters)
    if (Status status = clear(workspace + *function_.counters, 0, sizeof(TileCounters), stream);
        !status)
      return status;
  void **pointers = launchSpace.pointers.data();
  for (size_t i = 0; i < kernels_.size(); ++i) {
    std::span<void *const> mine{pointers, parameters[i].count()};
    if (Status status = kernels_[i].kernel.launch(kernels_[i].ctas, mine, stream); !status)
      return status;
    pointers += parameters[i].count();
  }
  return {};
}
