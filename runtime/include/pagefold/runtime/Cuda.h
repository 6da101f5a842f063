//===- Cuda.h - kernels on an NVIDIA GPU ------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads PTX or cubins through the CUDA driver, encodes tensor maps and launches on the caller's
// stream. The driver is found with dlopen: nothing here links CUDA, and a machine without it gets a
// sentence.
//
//   Result<CudaDriver> driver = CudaDriver::open();
//   Result<CudaModule> module = CudaModule::load(*driver, ptx);
//   Result<CudaKernel> kernel = module->kernel("prefill", {.threads = 384, .sharedBytes = 196704});
//   Result<TensorMap> map = encodeTensorMap(*driver, {DType::BF16, {64, 128, 2}}, view);
//   void *parameters[] = {&*map, &pointer, &length};
//   Status status = kernel->launch(132, parameters, stream);
//
// All calls work in the calling thread's current CUDA context (a framework has one; else useDevice
// makes one current). None of them waits for the device but where it says so.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_CUDA_H
#define PAGEFOLD_RUNTIME_CUDA_H

#include "pagefold/runtime/Artifact.h"
#include "pagefold/runtime/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagefold::runtime {

/// A CUstream; null is the context's default stream. The caller's own.
using CudaStream = void *;

/// The driver's functions; see lib/cuda/DriverApi.h.
struct DriverApi;

/// The CUDA driver. Copies are cheap and share it; the library is never closed, for it keeps
/// threads.
class CudaDriver {
public:
  /// Opens the driver: `library`, or where it is empty what the environment variable
  /// PAGEFOLD_CUDA_DRIVER names, or libcuda.so.1. NotFound when there is none,
  /// Unsupported when it lacks a function that Hopper's kernels need (it is older than CUDA 12).
  static Result<CudaDriver> open(const std::string &library = {});

  /// Makes the device's primary context current in this thread. Not needed where one is current.
  Status useDevice(int ordinal) const;

  const DriverApi &api() const { return *api_; }
  /// The error of a failed driver call as a sentence: "what: expects .., got CUDA error .. (..)".
  Error error(const std::string &what, int code) const;

private:
  explicit CudaDriver(std::shared_ptr<const DriverApi> api) : api_(std::move(api)) {}
  std::shared_ptr<const DriverApi> api_;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Memory of the current context's device. Freed when this dies, which may wait for the device: the
/// context is to be current then too.
class DeviceMemory {
public:
  /// OutOfCapacity where the device has not so much left.
  static Result<DeviceMemory> allocate(const CudaDriver &driver, size_t bytes);

  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory();

  std::byte *data() const { return reinterpret_cast<std::byte *>(address_); }
  size_t size() const { return size_; }

private:
  DeviceMemory(CudaDriver driver, uint64_t address, size_t size)
      : driver_(std::move(driver)), address_(address), size_(size) {}
  CudaDriver driver_;
  uint64_t address_;
  size_t size_;
};

/// Copies between host and device; both wait until the copy is done.
Status copyToDevice(const CudaDriver &driver, void *to, const void *from, size_t bytes);
Status copyToHost(const CudaDriver &driver, void *to, const void *from, size_t bytes);

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

/// A moment on a stream. The context in which it was created is to be current in every call.
class CudaEvent {
public:
  static Result<CudaEvent> create(const CudaDriver &driver);
  CudaEvent(CudaEvent &&other) noexcept;
  CudaEvent &operator=(CudaEvent &&) = delete;
  ~CudaEvent();

  /// The moment when all that is on the stream now is done.
  Status record(CudaStream stream) const;
  /// Seconds between two moments; waits for this one.
  Result<double> secondsSince(const CudaEvent &start) const;

private:
  CudaEvent(CudaDriver driver, void *event) : driver_(std::move(driver)), event_(event) {}
  CudaDriver driver_;
  void *event_;
};

/// Waits until what is on the stream is done.
Status synchronize(const CudaDriver &driver, CudaStream stream);

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// What the compiler decides about a tensor map: 128-byte swizzle, zeros outside the tensor.
struct TensorMapRecipe {
  DType element = DType::BF16; ///< BF16, F16 or F8E4M3
  std::vector<uint32_t> box;   ///< elements of each dimension, innermost first
  /// What is read is read once: the L2 fetches nothing beside it. Otherwise lines of 256 bytes.
  bool readOnce = false;
};

/// What a call says about the tensor.
struct TensorView {
  const void *address = nullptr; ///< device memory, aligned to 16 bytes
  std::vector<uint64_t> extents; ///< elements of each dimension, innermost first
  std::vector<uint64_t> strides; ///< bytes, of each dimension but the innermost; multiples of 16
};

/// An encoded map: a kernel parameter by value.
struct alignas(64) TensorMap {
  std::byte bytes[128];
};

/// Encodes a map. InvalidArgument with the number at fault where the chip cannot address such a
/// tensor.
Result<TensorMap> encodeTensorMap(const CudaDriver &driver, const TensorMapRecipe &recipe,
                                  const TensorView &view);

//===----------------------------------------------------------------------===//
// Modules and kernels
//===----------------------------------------------------------------------===//

/// How a kernel is launched.
struct CudaLaunchPlan {
  uint32_t threads = 0;     ///< of a CTA
  uint32_t sharedBytes = 0; ///< dynamic shared memory of a CTA
  bool early = false;       ///< may start while the kernel before it on the stream ends
};

/// A kernel of a module, which must outlive it.
class CudaKernel {
public:
  /// Enqueues `ctas` CTAs on `stream`. `parameters` are addresses of the values, in the kernel's
  /// order; they are read before this returns.
  Status launch(uint32_t ctas, std::span<void *const> parameters, CudaStream stream) const;

  /// What each thread has, as the driver knows it.
  Result<RegisterUse> registers() const;

private:
  friend class CudaModule;
  int enqueue(uint32_t ctas, void **parameters, CudaStream stream) const;
  CudaKernel(CudaDriver driver, void *function, std::string name, CudaLaunchPlan plan)
      : driver_(std::move(driver)), function_(function), name_(std::move(name)), plan_(plan) {}
  CudaDriver driver_;
  void *function_;
  std::string name_;
  CudaLaunchPlan plan_;
};

/// Code in the current context. Unloaded when this dies.
class CudaModule {
public:
  /// Loads PTX text or a cubin. BadInput with the assembler's words where the driver refuses it.
  static Result<CudaModule> load(const CudaDriver &driver, std::string_view code);

  CudaModule(CudaModule &&other) noexcept;
  CudaModule &operator=(CudaModule &&) = delete;
  ~CudaModule();

  /// The kernel `symbol`, allowed to use its shared memory.
  Result<CudaKernel> kernel(const std::string &symbol, const CudaLaunchPlan &plan) const;

private:
  CudaModule(CudaDriver driver, void *module) : driver_(std::move(driver)), module_(module) {}
  CudaDriver driver_;
  void *module_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_CUDA_H
