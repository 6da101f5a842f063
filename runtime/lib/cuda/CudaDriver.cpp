//===- CudaDriver.cpp - the driver, found at run time ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "pagefold/runtime/Cuda.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace pagefold::runtime;

static constexpr const char *kLibrary = "libcuda.so.1";
static constexpr const char *kLibraryVariable = "PAGEFOLD_CUDA_DRIVER";

namespace {
/// Looks functions up; remembers the first that is missing.
class Symbols {
public:
  explicit Symbols(void *library) : library_(library) {}

  template <typename Function> void find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function && missing_.empty())
      missing_ = name;
  }
  const std::string &missing() const { return missing_; }

private:
  void *library_;
  std::string missing_;
};

std::string findFunctions(void *library, DriverApi &api) {
  Symbols symbols(library);
  symbols.find(api.cuInit, "cuInit");
  symbols.find(api.cuGetErrorString, "cuGetErrorString");
  symbols.find(api.cuCtxGetCurrent, "cuCtxGetCurrent");
  symbols.find(api.cuCtxSetCurrent, "cuCtxSetCurrent");
  symbols.find(api.cuCtxGetDevice, "cuCtxGetDevice");
  symbols.find(api.cuDeviceGet, "cuDeviceGet");
  symbols.find(api.cuDeviceGetCount, "cuDeviceGetCount");
  symbols.find(api.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  symbols.find(api.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  symbols.find(api.cuModuleLoadDataEx, "cuModuleLoadDataEx");
  symbols.find(api.cuModuleUnload, "cuModuleUnload");
  symbols.find(api.cuModuleGetFunction, "cuModuleGetFunction");
  symbols.find(api.cuFuncSetAttribute, "cuFuncSetAttribute");
  symbols.find(api.cuFuncGetAttribute, "cuFuncGetAttribute");
  symbols.find(api.cuLaunchKernel, "cuLaunchKernel");
  symbols.find(api.cuLaunchKernelEx, "cuLaunchKernelEx");
  // The names under which libcuda.so exports what cuda.h calls cuMemAlloc and so on.
  symbols.find(api.cuMemAlloc, "cuMemAlloc_v2");
  symbols.find(api.cuMemFree, "cuMemFree_v2");
  symbols.find(api.cuMemHostAlloc, "cuMemHostAlloc");
  symbols.find(api.cuMemFreeHost, "cuMemFreeHost");
  symbols.find(api.cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
  symbols.find(api.cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  symbols.find(api.cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  symbols.find(api.cuMemsetD8Async, "cuMemsetD8Async");
  symbols.find(api.cuStreamSynchronize, "cuStreamSynchronize");
  symbols.find(api.cuEventCreate, "cuEventCreate");
  symbols.find(api.cuEventRecord, "cuEventRecord");
  symbols.find(api.cuEventSynchronize, "cuEventSynchronize");
  symbols.find(api.cuEventElapsedTime, "cuEventElapsedTime");
  symbols.find(api.cuEventDestroy, "cuEventDestroy_v2");
  symbols.find(api.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  return symbols.missing();
}
} // namespace

Result<CudaDriver> CudaDriver::open(const std::string &library) {
  const char *chosen = library.empty() ? std::getenv(kLibraryVariable) : library.c_str();
  const std::string name = chosen && *chosen ? chosen : kLibrary;
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(ErrorCode::NotFound, "cannot open the CUDA driver: expects '" + name +
                                         "', got: " + (reason ? reason : "no reason given") +
                                         "; install NVIDIA's driver, or compile with target host");
  }
  auto api = std::make_shared<DriverApi>();
  if (std::string missing = findFunctions(handle, *api); !missing.empty())
    return fail(ErrorCode::Unsupported,
                "cannot use the CUDA driver '" + name + "': expects the function '" + missing +
                    "', which came with CUDA 12, got none; update NVIDIA's driver");
  CudaDriver driver(std::move(api));
  if (int code = driver.api().cuInit(0))
    return tl::unexpected(driver.error("cannot start the CUDA driver", code));
  return driver;
}

Status CudaDriver::useDevice(int ordinal) const {
  const std::string what = "cannot use CUDA device " + std::to_string(ordinal);
  int device = 0;
  void *context = nullptr;
  if (int code = api_->cuDeviceGet(&device, ordinal))
    return tl::unexpected(error(what, code));
  if (int code = api_->cuDevicePrimaryCtxRetain(&context, device))
    return tl::unexpected(error(what, code));
  if (int code = api_->cuCtxSetCurrent(context))
    return tl::unexpected(error(what, code));
  return {};
}

Error CudaDriver::error(const std::string &what, int code) const {
  const char *text = nullptr;
  api_->cuGetErrorString(code, &text);
  constexpr int kOutOfMemory = 2;
  return Error(code == kOutOfMemory ? ErrorCode::OutOfCapacity : ErrorCode::InvalidArgument,
               what + ": got CUDA error " + std::to_string(code) + " (" +
                   (text ? text : "unknown") + ")");
}
