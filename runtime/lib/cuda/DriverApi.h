//===- DriverApi.h - the driver's functions that we call --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared here, as cuda.h has them: no CUDA header is needed to build.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_DRIVERAPI_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace pagefold::runtime {

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    int flag;
  };
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};

struct DriverApi {
  int (*cuInit)(unsigned flags);
  int (*cuGetErrorString)(int code, const char **text);
  int (*cuCtxGetCurrent)(void **context);
  int (*cuCtxSetCurrent)(void *context);
  int (*cuCtxGetDevice)(int *device);
  int (*cuDeviceGet)(int *device, int ordinal);
  int (*cuDeviceGetCount)(int *count);
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(void **context, int device);
  int (*cuModuleLoadDataEx)(void **module, const void *image, unsigned options, int *names,
                            void **values);
  int (*cuModuleUnload)(void *module);
  int (*cuModuleGetFunction)(void **function, void *module, const char *name);
  int (*cuFuncSetAttribute)(void *function, int attribute, int value);
  int (*cuFuncGetAttribute)(int *value, int attribute, void *function);
  int (*cuLaunchKernel)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                        void *stream, void **parameters, void **extra);
  int (*cuLaunchKernelEx)(const LaunchConfig *config, void *function, void **parameters,
                          void **extra);
  int (*cuMemAlloc)(uint64_t *address, size_t bytes);
  int (*cuMemFree)(uint64_t address);
  int (*cuMemHostAlloc)(void **memory, size_t bytes, unsigned flags);
  int (*cuMemFreeHost)(void *memory);
  int (*cuMemHostGetDevicePointer)(uint64_t *address, void *memory, unsigned flags);
  int (*cuMemcpyHtoD)(uint64_t to, const void *from, size_t bytes);
  int (*cuMemcpyDtoH)(void *to, uint64_t from, size_t bytes);
  int (*cuMemsetD8Async)(uint64_t address, unsigned char byte, size_t bytes, void *stream);
  int (*cuStreamSynchronize)(void *stream);
  int (*cuEventCreate)(void **event, unsigned flags);
  int (*cuEventRecord)(void *event, void *stream);
  int (*cuEventSynchronize)(void *event);
  int (*cuEventElapsedTime)(float *milliseconds, void *start, void *end);
  int (*cuEventDestroy)(void *event);
  int (*cuTensorMapEncodeTiled)(void *map, int type, uint32_t rank, void *address,
                                const uint64_t *extents, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *elementStrides, int interleave,
                                int swizzle, int l2Promotion, int outOfBounds);
};

// Values of cuda.h's enumerations.
inline constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBytes = 6;
inline constexpr int kLocalBytes = 3, kThreadRegisters = 4, kMaxDynamicSharedBytes = 8;
inline constexpr int kProgrammaticStreamSerialization = 6; ///< a launch attribute
inline constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76,
                     kSharedBytesOfACta = 97;
inline constexpr unsigned kMappedHostMemory = 2;
inline constexpr int kUnsupportedPtxVersion = 222;
inline constexpr int kTypeU8 = 0, kTypeF16 = 6, kTypeBF16 = 9;
inline constexpr int kNoInterleave = 0, kSwizzle128 = 3, kPromoteNone = 0, kPromote256 = 3,
                     kZeros = 0;

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_DRIVERAPI_H
