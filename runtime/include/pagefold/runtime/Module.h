//===- Module.h - a loaded artifact -----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Result<std::unique_ptr<Module>> module = Module::load(bytes);
//   Result<const Function *> layer = (*module)->function("layer");
//   Status status = (*layer)->launch(tensors, nullptr, 0);
//
// A Module owns its code and its Functions; a Function may be launched by many threads at once,
// each launch with a workspace of its own. No launch may be under way when a Module dies.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_MODULE_H
#define PAGEFOLD_RUNTIME_MODULE_H

#include "pagefold/runtime/Artifact.h"
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

  /// Prepares a fresh workspace of `size` >= workspaceSize() bytes, 64-byte aligned.
  virtual Status initWorkspace(void *workspace, size_t size) const = 0;

  /// Checks the arguments against the plan, runs the kernels and reads the error word. A null
  /// workspace takes one of the function's own. Nothing is written when an argument is refused
  /// (InvalidArgument); a request's data that breaks its contract is BadInput, and the results of
  /// the other requests are valid.
  virtual Status launch(std::span<const DLTensor *const> args, void *workspace,
                        size_t size) const = 0;

  /// What the last launch in this workspace counted; Unsupported when compiled without counters.
  Result<TileCounters> counters(const void *workspace) const;

protected:
  Function(const Plan &plan, const FunctionPlan &function)
      : plan_(function), json_(describe(plan, function)) {}

private:
  FunctionPlan plan_;
  std::string json_;
};

class Module {
public:
  /// Loads an artifact. The bytes are needed during the call only.
  static Result<std::unique_ptr<Module>> load(std::string_view bytes);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// A function by name; with an empty name the only one.
  Result<const Function *> function(std::string_view name) const;

private:
  class Code; // keeps the kernels mapped; dies after the functions
  Module(std::unique_ptr<Code> code, std::vector<std::unique_ptr<Function>> functions);

  std::unique_ptr<Code> code_;
  std::vector<std::unique_ptr<Function>> functions_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_MODULE_H
