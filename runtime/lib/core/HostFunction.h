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
  /// Looks the kernels up in `code`, which functions of one artifact share.
  static Result<std::unique_ptr<Function>> create(const Plan &plan, const FunctionPlan &function,
                                                  std::shared_ptr<const HostCode> code);

  Status initWorkspace(void *workspace, size_t size, void *stream) const override;
  Status launch(std::span<const DLTensor *const> args, void *workspace, size_t size,
                void *stream) const override;

private:
  HostFunction(const Plan &plan, const FunctionPlan &function, std::shared_ptr<const HostCode> code,
               std::vector<HostKernel> kernels)
      : Function(plan, function), code_(std::move(code)), kernels_(std::move(kernels)),
        binder_(this->plan(), kDLCPU) {}

  Status run(std::span<const DLTensor *const> args, BoundArguments &bound,
             std::byte *workspace) const;

  std::shared_ptr<const HostCode> code_; ///< keeps the kernels mapped
  std::vector<HostKernel> kernels_;
  ArgumentBinder binder_;
  mutable WorkspaceCache workspaces_; ///< thread-safe
};

/// The functions of an artifact for target host.
Result<std::vector<std::unique_ptr<Function>>> loadHostFunctions(const Artifact &artifact);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_HOSTFUNCTION_H
