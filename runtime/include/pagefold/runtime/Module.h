//===- Module.h - a loaded artifact -----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Result<std::unique_ptr<Module>> module = Module::load(bytes);
//   Result<const Function *> layer = (*module)->function("layer");
//   Status status = (*layer)->launch(tensors, nullptr, 0, stream);
//
// A Module owns its Functions; a Function may be launched by many threads at once, each launch
// with a workspace of its own. No launch may be under way when a Module dies.
//
// On target host a launch runs the kernels and returns when the results are there; tensors and
// workspace lie in host memory, and the stream is ignored. On target cuda it enqueues the kernels
// on the stream (a CUstream) and waits for nothing; tensors and workspace lie on the device of the
// thread's current CUDA context (where none is current, the primary context of the tensors' device
// becomes so). The driver is opened, and the code loaded into a context, at the first launch there.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_MODULE_H
#define PAGEFOLD_RUNTIME_MODULE_H

#include "pagefold/runtime/Artifact.h"
#include "pagefold/runtime/Explain.h"
#include "pagefold/runtime/Launch.h"

#include <dlpack/dlpack.h>
#include <memory>

namespace pagefold::runtime {

class Function {
public:
  virtual ~Function() = default;
  Function(const Function &) = delete;
  Function &operator=(const Function &) = delete;

  const FunctionPlan &plan() const { return plan_; }
  /// See describe() in Artifact.h.
  const std::string &planJson() const { return json_; }
  /// Bytes that one launch needs; depends on the declared maxima only.
  size_t workspaceSize() const { return static_cast<size_t>(plan_.workspaceSize); }

  /// Prepares a fresh workspace of `size` >= workspaceSize() bytes, 64-byte aligned; on a GPU by
  /// work on the stream.
  virtual Status initWorkspace(void *workspace, size_t size, void *stream) const = 0;

  /// Checks the arguments against the plan and runs the kernels. A null workspace takes one of the
  /// function's own; on a GPU that is one for each stream, allocated at its first launch and kept.
  /// Nothing is written when an argument is refused (InvalidArgument). A request's data that breaks
  /// its contract is BadInput, and the results of the other requests are valid: on the host the
  /// launch says so itself; on a GPU the next launch of the function in that context does, in
  /// place of launching, or check().
  virtual Status launch(std::span<const DLTensor *const> args, void *workspace, size_t size,
                        void *stream) const = 0;

  /// BadInput where a kernel of a launch that is complete reported a request's data and no launch
  /// has said so yet: for callers that have synchronised. Of launches in the current context.
  virtual Status check() const { return {}; }

  /// The explanation of the compile, and of a launch with `args` (inputs, and perhaps results, in
  /// the plan's order) where `withLaunch`. For people and tests: it may copy lengths from the GPU
  /// and load the code there. Arguments of a function for a GPU may lie on the host too: then no
  /// GPU is asked. `milliseconds`: what a launch took, where it was measured, else 0.
  Result<std::string> explain(bool withLaunch, std::span<const DLTensor *const> args,
                              double milliseconds, ExplainFormat format) const;

  /// What the last launch in this workspace counted; Unsupported when compiled without counters.
  /// On a GPU the caller has synchronised.
  Result<TileCounters> counters(const void *workspace) const;

protected:
  Function(const Plan &plan, const FunctionPlan &function)
      : plan_(function), module_{plan.compiler, plan.target, plan.options, {}},
        json_(describe(plan, function)) {}

  /// What the device of a launch adds to its explanation: `device` is that of its tensors.
  virtual Status addDevice(int /*device*/, LaunchFacts & /*facts*/) const { return {}; }

  /// Reads bytes of a workspace.
  virtual Status read(void *to, const std::byte *from, size_t size) const;

private:
  FunctionPlan plan_;
  Plan module_; ///< without functions
  std::string json_;
};

/// What a launch needs of a function's declared maxima.
struct BatchExtent {
  int64_t batch = 1;  ///< requests
  int64_t qLen = 1;   ///< query rows of the request that has most
  int64_t kvLen = 1;  ///< keys of the request that has most, those of this launch included
  int64_t tokens = 0; ///< query rows of all requests; 0: batch x qLen
};

class Module {
public:
  /// Loads an artifact. The bytes are needed during the call only.
  static Result<std::unique_ptr<Module>> load(std::string_view bytes);
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// A function by name; with an empty name the only one.
  Result<const Function *> function(std::string_view name) const;

  /// The variant of a graph for a batch: the first in the order of its declared maxima that hold it.
  /// The graph by name, with an empty name the only one; one that was compiled for one set of
  /// maxima is its own variant. InvalidArgument where none holds the batch.
  Result<const Function *> functionFor(std::string_view graph, const BatchExtent &extent) const;

private:
  explicit Module(std::vector<std::unique_ptr<Function>> functions)
      : functions_(std::move(functions)) {}

  std::vector<std::unique_ptr<Function>> functions_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_MODULE_H
