//===- CudaContext.h - the GPU that a thread works on -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_CUDACONTEXT_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_CUDACONTEXT_H

#include "pagefold/runtime/Cuda.h"

namespace pagefold::runtime {

/// What a launch must know of the GPU behind a context.
struct CudaDevice {
  int ordinal = 0;          ///< as DLPack counts devices
  int major = 0, minor = 0; ///< compute capability
  int multiprocessors = 0;
  int sharedBytes = 0; ///< that a CTA may ask for
};

/// The calling thread's context. Where none is current, the primary context of device `ordinal`
/// becomes so, as CUDA's own runtime does it; with a negative one that is an error.
Result<void *> currentContext(const CudaDriver &driver, int ordinal);

/// The device of the current context.
Result<CudaDevice> currentDevice(const CudaDriver &driver);

/// Makes a context current while this lives. For releasing what was made in it.
class ContextScope {
public:
  ContextScope(const CudaDriver &driver, void *context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const CudaDriver driver_;
  void *before_ = nullptr;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_CUDACONTEXT_H
