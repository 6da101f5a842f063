//===- CudaFunction.h - a function compiled for a GPU -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_CUDAFUNCTION_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_CUDAFUNCTION_H

#include "CudaCode.h"
#include "FunctionInContext.h"
#include "KernelParameters.h"
#include "pagefold/runtime/Module.h"

namespace pagefold::runtime {

class CudaFunction final : public Function {
public:
  CudaFunction(const Plan &plan, const FunctionPlan &function, std::shared_ptr<CudaCode> code);

  Status initWorkspace(void *workspace, size_t size, void *stream) const override;
  Status launch(std::span<const DLTensor *const> args, void *workspace, size_t size,
                void *stream) const override;
  Status check() const override;

protected:
  Status addDevice(int device, LaunchFacts &facts) const override;
  Status read(void *to, const std::byte *from, size_t size) const override;

private:
  /// The function in the current context, made ready there if it was not; see currentContext().
  Result<FunctionInContext *> here(int device) const;

  std::shared_ptr<CudaCode> code_;
  ArgumentBinder binder_;
  std::vector<KernelParameters> parameters_; ///< by kernel
  mutable std::mutex mutex_;
  mutable std::map<void *, std::unique_ptr<FunctionInContext>> contexts_; ///< dies before code_
};

/// The functions of an artifact for target cuda.
Result<std::vector<std::unique_ptr<Function>>> loadCudaFunctions(const Artifact &artifact);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_CUDAFUNCTION_H
