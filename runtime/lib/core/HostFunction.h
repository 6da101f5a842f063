//===- HostFunction.h - a function compiled for the host --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_HOSTFUNCTION_H
#define PAGEFOLD_RUNTIME_LIB_CORE_HOSTFUNCTION_H

#include "Arguments.h"
#include "HostCode.h"
#include "Workspace.h"
#include "pagefold/runtime/Module.h"

namespace pagefold::runtime {

class HostFunction final : public Function {
public:
  /// Looks the kernels up; `code` must outlive the function.
  static Result<std::unique_ptr<Function>> create(const Plan &plan, const FunctionPlan &function,
                                                  const HostCode &code);

  Status initWorkspace(void *workspace, size_t size) const override;
  Status launch(std::span<const DLTensor *const> args, void *workspace, size_t size) const override;

private:
  HostFunction(const Plan &plan, const FunctionPlan &function, std::vector<HostKernel> kernels)
      : Function(plan, function), kernels_(std::move(kernels)), binder_(this->plan()) {}

  Status run(std::span<const DLTensor *const> args, BoundArguments &bound,
             std::byte *workspace) const;

  std::vector<HostKernel> kernels_;
  ArgumentBinder binder_;
  mutable WorkspaceCache workspaces_; ///< thread-safe
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_HOSTFUNCTION_H
