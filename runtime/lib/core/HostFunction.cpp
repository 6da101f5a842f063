//===- HostFunction.cpp - a function compiled for the host ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFunction.h"

#include "ErrorWord.h"
#include "HostTarget.h"
#include "pagefold/runtime/ThreadPool.h"

#include <algorithm>
#include <cstring>

using namespace pagefold::runtime;

//===----------------------------------------------------------------------===//
// One kernel on many workers
//===----------------------------------------------------------------------===//

namespace {
/// A worker's memory: its scratch, then its copy of the frame. Kept by the thread for its next
/// kernel, whichever function that is of.
thread_local AlignedBuffer workerMemory;

/// Address, address, offset, size, stride: a vector as the frame has it.
int64_t *putVector(int64_t *word, const void *data, int64_t size) {
  auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  for (int64_t value : {address, address, int64_t(0), size, int64_t(1)})
    *word++ = value;
  return word;
}

/// What the workers of one kernel share.
struct KernelRun {
  HostKernel kernel;
  const std::vector<int64_t> &arguments; ///< the frame's first words
  const std::byte *workspace;
  int64_t workspaceSize;
  int64_t scratchSize;
  alignas(64) int64_t ticket = 0; ///< a line of its own: every worker writes it

  size_t scratchBytes() const { return static_cast<size_t>((scratchSize + 63) / 64 * 64); }
  bool reserveMemory() const noexcept {
    return workerMemory.reserve(scratchBytes() +
                                (arguments.size() + kTrailingWords) * sizeof(int64_t));
  }

  void runHere() noexcept {
    // Where a thread has no memory the others do its share; the caller made sure of its own.
    if (!reserveMemory())
      return;
    std::byte *scratch = workerMemory.data();
    auto *frame = reinterpret_cast<int64_t *>(scratch + scratchBytes());
    int64_t *word = std::copy(arguments.begin(), arguments.end(), frame);
    word = putVector(word, workspace, workspaceSize);
    word = putVector(word, scratch, scratchSize);
    putVector(word, &ticket, 1);
    kernel(frame);
  }

  void runOn(KernelPlan::Workers workers, ThreadPool &pool) {
    if (workers == KernelPlan::Workers::One)
      return runHere();
    pool.run([](void *run) noexcept { static_cast<KernelRun *>(run)->runHere(); }, this);
  }
};

/// Zeroes what a launch reports.
void clearReports(const FunctionPlan &plan, std::byte *workspace) {
  std::memset(workspace + *plan.errorWord, 0, sizeof(ErrorWord));
  if (plan.counters)
    std::memset(workspace + *plan.counters, 0, sizeof(TileCounters));
}

ErrorWord readErrorWord(const FunctionPlan &plan, const std::byte *workspace) {
  ErrorWord word;
  std::memcpy(&word, workspace + *plan.errorWord, sizeof(word));
  return word;
}
} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Function>> HostFunction::create(const Plan &plan,
                                                       const FunctionPlan &function,
                                                       std::shared_ptr<const HostCode> code) {
  std::vector<HostKernel> kernels;
  for (const KernelPlan &kernel : function.kernels) {
    Result<HostKernel> entry = code->kernel(kernel.symbol);
    if (!entry)
      return tl::unexpected(entry.error());
    kernels.push_back(*entry);
  }
  return std::unique_ptr<Function>(
      new HostFunction(plan, function, std::move(code), std::move(kernels)));
}

Status HostFunction::initWorkspace(void *workspace, size_t size, void * /*stream*/) const {
  if (Status status = checkWorkspace(plan(), workspace, size); !status)
    return status;
  fillWorkspace(plan(), workspace);
  clearReports(plan(), static_cast<std::byte *>(workspace));
  return {};
}

Status HostFunction::launch(std::span<const DLTensor *const> args, void *workspace, size_t size,
                            void * /*stream*/) const {
  BoundArguments &bound = boundArguments();
  if (Status status = binder_.bind(args, bound); !status)
    return status;

  if (!workspace) {
    std::unique_ptr<AlignedBuffer> own = workspaces_.take(plan());
    if (!own)
      return fail(ErrorCode::OutOfCapacity, "function '" + plan().name + "': expects " +
                                                std::to_string(workspaceSize()) +
                                                " bytes for a workspace, got no memory");
    Status status = run(args, bound, own->data());
    workspaces_.give(std::move(own));
    return status;
  }

  if (Status status = checkWorkspace(plan(), workspace, size); !status)
    return status;
  if (Status status = checkApart(plan(), bound, workspace); !status)
    return status;
  Result<WorkspaceClaim> claim = WorkspaceClaim::claim(plan(), workspace);
  if (!claim)
    return tl::unexpected(claim.error());
  return run(args, bound, static_cast<std::byte *>(workspace));
}

Status HostFunction::run(std::span<const DLTensor *const> args, BoundArguments &bound,
                         std::byte *workspace) const {
  clearReports(plan(), workspace);
  std::shared_ptr<ThreadPool> pool = ThreadPool::shared();
  for (size_t i = 0; i < kernels_.size(); ++i) {
    KernelRun kernel{kernels_[i], bound.words, workspace, plan().workspaceSize, plan().scratchSize};
    if (!kernel.reserveMemory())
      return fail(ErrorCode::OutOfCapacity, "function '" + plan().name + "': expects " +
                                                std::to_string(plan().scratchSize) +
                                                " bytes of scratch, got no memory");
    kernel.runOn(plan().kernels[i].workers, *pool);
  }
  ErrorWord word = readErrorWord(plan(), workspace);
  if (word.request != 0)
    return tl::unexpected(errorOf(word, plan(), args));
  return {};
}

Result<std::vector<std::unique_ptr<Function>>>
pagefold::runtime::loadHostFunctions(const Artifact &artifact) {
  if (Status status = checkHostTarget(artifact.plan.target); !status)
    return tl::unexpected(status.error());
  auto section = std::find_if(artifact.code.begin(), artifact.code.end(),
                              [](const CodeSection &s) { return s.kind == "elf-shared"; });
  if (section == artifact.code.end())
    return fail(
        ErrorCode::BadInput,
        "cannot load the artifact: target 'host' expects code of kind 'elf-shared', got none");
  Result<HostCode> loaded = HostCode::load(section->bytes);
  if (!loaded)
    return tl::unexpected(loaded.error());
  auto code = std::make_shared<const HostCode>(std::move(*loaded));
  std::vector<std::unique_ptr<Function>> functions;
  for (const FunctionPlan &plan : artifact.plan.functions) {
    Result<std::unique_ptr<Function>> function = HostFunction::create(artifact.plan, plan, code);
    if (!function)
      return tl::unexpected(function.error());
    functions.push_back(std::move(*function));
  }
  return functions;
}
