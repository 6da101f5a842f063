//===- CudaCode.h - an artifact's code on the GPUs that use it --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_CUDACODE_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_CUDACODE_H

#include "CudaContext.h"

#include <map>
#include <mutex>
#include <optional>

namespace pagefold::runtime {

/// Code in one context.
struct LoadedCode {
  CudaDevice device;
  CudaModule module;
};

/// The code of an artifact, shared by its functions. The driver is opened when it is first needed
/// and the code loaded into each context when that first launches, so that plans can be read where
/// there is no GPU. Thread-safe.
class CudaCode {
public:
  /// `code` is PTX or a cubin for `target`.
  CudaCode(const TargetPlan &target, std::string_view code) : target_(target), code_(code) {}
  ~CudaCode();
  CudaCode(const CudaCode &) = delete;
  CudaCode &operator=(const CudaCode &) = delete;

  /// The driver, opened now if it was not. A failure is tried again by the next call.
  Result<CudaDriver> driver();
  /// The driver where it has been opened.
  std::optional<CudaDriver> openDriver();

  /// The code in `context`, which is current. Unsupported where its GPU cannot run it.
  Result<const LoadedCode *> in(void *context, const CudaDriver &driver);

private:
  Status checkDevice(const CudaDevice &device) const;

  const TargetPlan target_;
  const std::string code_;
  std::mutex mutex_;
  std::optional<CudaDriver> driver_;
  std::map<void *, LoadedCode> loaded_; ///< by context
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_CUDACODE_H
