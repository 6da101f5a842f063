//===- FunctionInContext.h - a function on one GPU --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_FUNCTIONINCONTEXT_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_FUNCTIONINCONTEXT_H

#include "CudaCode.h"
#include "KernelParameters.h"
#include "MappedErrorWord.h"

namespace pagefold::runtime {

/// What a function has in one context: kernels, its error word, encoded maps, workspaces of its
/// own. Thread-safe; the context is current in every call.
class FunctionInContext {
public:
  /// `function` must outlive this, and `code`.
  static Result<std::unique_ptr<FunctionInContext>> create(const FunctionPlan &function,
                                                           const CudaDriver &driver, void *context,
                                                           const LoadedCode &code);
  ~FunctionInContext();

  int ordinal() const { return ordinal_; }
  const CudaDriver &driver() const { return driver_; }

  /// Enqueues the initial bytes of a workspace.
  Status initWorkspace(void *workspace, CudaStream stream) const;
  /// The function's own workspace for `stream`.
  Result<std::byte *> ownWorkspace(CudaStream stream);
  /// BadInput with what an earlier launch left in the error word, which is cleared.
  Status takeError(const std::string &consequence);
  /// What the threads of each kernel have.
  Result<std::vector<RegisterUse>> registers() const;
  int64_t multiprocessors() const { return multiprocessors_; }
  /// Enqueues the kernels.
  Status launch(const std::vector<KernelParameters> &parameters, const BoundArguments &bound,
                std::byte *workspace, CudaStream stream);

private:
  struct Kernel {
    CudaKernel kernel;
    uint32_t ctas;
  };
  FunctionInContext(const FunctionPlan &function, const CudaDriver &driver, void *context,
                    const CudaDevice &device, MappedErrorWord errorWord)
      : function_(function), driver_(driver), context_(context), ordinal_(device.ordinal),
        multiprocessors_(device.multiprocessors), errorWord_(std::move(errorWord)) {}

  Status addKernel(const KernelPlan &plan, const LoadedCode &code);
  Status clear(const void *address, uint8_t byte, size_t size, CudaStream stream) const;

  const FunctionPlan &function_;
  const CudaDriver driver_;
  void *const context_;
  const int ordinal_;
  const int64_t multiprocessors_;
  std::vector<Kernel> kernels_;

  std::mutex mutex_; ///< of what follows
  std::optional<MappedErrorWord> errorWord_;
  std::map<CudaStream, DeviceMemory> workspaces_;
  TensorMapCache maps_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_FUNCTIONINCONTEXT_H
