//===- FakeDriver.cpp - a CUDA driver that writes down its calls ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exports the functions of libcuda.so.1 that the runtime calls. Each call adds a line to a log; a
// test may make one function fail. Device memory is the process's own, filled and copied at once;
// kernels do nothing. Device 0 is handle 10 and its primary context 110; modules count from 200,
// kernels from 300.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "../../lib/cuda/DriverApi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using pagefold::runtime::LaunchConfig;

namespace {
constexpr int kDevices = 4;
constexpr uintptr_t kContexts = 100, kModules = 200, kKernels = 300;

std::mutex mutex; // of all that follows
std::vector<std::string> calls;
std::vector<FakeLaunch> launches;
std::string failing, text;
int failure = 0;
bool recording = true;
uintptr_t modules = 0;
std::vector<std::string> kernels; ///< by handle
std::map<std::string, std::vector<size_t>> sizes;
std::map<std::pair<int, int>, int> attributes;
thread_local void *current = nullptr;

int record(const char *name, const std::string &arguments) {
  std::lock_guard lock(mutex);
  calls.push_back(name + ("(" + arguments + ")"));
  return name == failing ? failure : 0;
}

template <typename T> std::string list(const T *values, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? " " : "") + std::to_string(values[i]);
  return "[" + text + "]";
}

std::string number(const void *pointer) {
  return std::to_string(reinterpret_cast<uintptr_t>(pointer));
}
std::string place(uint64_t address) { return address ? "memory" : "null"; }

void *handle(uintptr_t value) { return reinterpret_cast<void *>(value); }

/// An H200.
int attributeOf(int ordinal, int attribute) {
  auto found = attributes.find({ordinal, attribute});
  if (found != attributes.end())
    return found->second;
  switch (attribute) {
  case 16:
    return 132;
  case 75:
    return 9;
  case 97:
    return 232448;
  default:
    return 0;
  }
}

void recordLaunch(void *function, unsigned ctas, unsigned threads, unsigned shared, void *stream,
                  void **parameters) {
  std::lock_guard lock(mutex);
  FakeLaunch launch{
      kernels[reinterpret_cast<uintptr_t>(function) - kKernels], ctas, threads, shared, stream, {}};
  const std::vector<size_t> &bytes = sizes[launch.kernel];
  for (size_t i = 0; i < bytes.size(); ++i)
    launch.parameters.emplace_back(static_cast<const char *>(parameters[i]), bytes[i]);
  launches.push_back(std::move(launch));
}
} // namespace

extern "C" {
std::vector<std::string> *fakeCalls() { return &calls; }
std::vector<FakeLaunch> *fakeLaunches() { return &launches; }

void fakeReset(const char *function, int code) {
  std::lock_guard lock(mutex);
  calls.clear();
  launches.clear();
  failing = function;
  failure = code;
  recording = true;
  modules = 0;
  kernels.clear();
  sizes.clear();
  attributes.clear();
  current = nullptr;
}

void fakeFail(const char *function, int code) {
  std::lock_guard lock(mutex);
  failing = function;
  failure = code;
}

void fakeRecord(bool on) { recording = on; }

void fakeAttribute(int ordinal, int attribute, int value) {
  attributes[{ordinal, attribute}] = value;
}

void fakeKernel(const char *name, const size_t *bytes, size_t count) {
  sizes[name].assign(bytes, bytes + count);
}

const char *fakeCallText() {
  std::lock_guard lock(mutex);
  text.clear();
  for (const std::string &call : calls)
    text += call + "\n";
  return text.c_str();
}

const char *fakeParameter(size_t launch, size_t parameter, size_t *size) {
  std::lock_guard lock(mutex);
  if (launch >= launches.size() || parameter >= launches[launch].parameters.size())
    return nullptr;
  const std::string &bytes = launches[launch].parameters[parameter];
  *size = bytes.size();
  return bytes.data();
}

//===----------------------------------------------------------------------===//
// Contexts and devices
//===----------------------------------------------------------------------===//

int cuInit(unsigned flags) { return record("cuInit", std::to_string(flags)); }

int cuGetErrorString(int code, const char **text) {
  *text = code == 2 ? "out of memory" : "a fault made for a test";
  return 0;
}

int cuCtxGetCurrent(void **context) {
  *context = current;
  return recording ? record("cuCtxGetCurrent", "") : 0;
}
int cuCtxSetCurrent(void *context) {
  current = context;
  return record("cuCtxSetCurrent", number(context));
}
int cuCtxGetDevice(int *device) {
  *device = static_cast<int>(reinterpret_cast<uintptr_t>(current) - kContexts);
  return record("cuCtxGetDevice", "");
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 10;
  return record("cuDeviceGet", std::to_string(ordinal));
}
int cuDeviceGetCount(int *count) {
  *count = kDevices;
  return record("cuDeviceGetCount", "");
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attributeOf(device - 10, attribute);
  return record("cuDeviceGetAttribute", std::to_string(attribute) + ", " + std::to_string(device));
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = handle(kContexts + static_cast<uintptr_t>(device));
  return record("cuDevicePrimaryCtxRetain", std::to_string(device));
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

int cuModuleLoadDataEx(void **module, const void *image, unsigned options, int *names,
                       void **values) {
  *module = handle(kModules + modules++);
  int code = record("cuModuleLoadDataEx", static_cast<const char *>(image));
  for (unsigned i = 0; code && i < options; ++i)
    if (names[i] == 5) // the buffer of the assembler's words
      std::strcpy(static_cast<char *>(values[i]), "line 1: no such instruction");
  return code;
}
int cuModuleUnload(void *module) { return record("cuModuleUnload", number(module)); }

int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = handle(kKernels + kernels.size());
  kernels.push_back(name);
  return record("cuModuleGetFunction", number(module) + ", " + name);
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return record("cuFuncSetAttribute",
                number(function) + ", " + std::to_string(attribute) + ", " + std::to_string(value));
}

/// Kernel 300 has 168 registers, the next one 8 less, and so on; none spills.
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  int number = static_cast<int>(reinterpret_cast<uintptr_t>(function) - kKernels);
  *value = attribute == 4 ? 168 - 8 * number : 0;
  return record("cuFuncGetAttribute", std::to_string(attribute) + ", " + ::number(function));
}

int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned shared, void *stream,
                   void **parameters, void **extra) {
  if (!recording)
    return 0;
  recordLaunch(function, gridX, blockX, shared, stream, parameters);
  unsigned extents[] = {gridX, gridY, gridZ, blockX, blockY, blockZ, shared};
  return record("cuLaunchKernel", number(function) + ", " + list(extents, 7) + ", stream " +
                                      number(stream) + (extra ? ", extra" : ""));
}

int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **extra) {
  if (!recording)
    return 0;
  recordLaunch(function, config->gridX, config->blockX, config->sharedBytes, config->stream,
               parameters);
  unsigned extents[] = {config->gridX,  config->gridY,  config->gridZ,      config->blockX,
                        config->blockY, config->blockZ, config->sharedBytes};
  std::string text =
      number(function) + ", " + list(extents, 7) + ", stream " + number(config->stream);
  for (unsigned i = 0; i < config->attributeCount; ++i)
    text += ", attribute " + std::to_string(config->attributes[i].id) + " = " +
            std::to_string(config->attributes[i].flag);
  return record("cuLaunchKernelEx", text + (extra ? ", extra" : ""));
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *elementStrides, int interleave, int swizzle,
                           int l2Promotion, int outOfBounds) {
  // Recognisable: the address, then what no driver would write.
  std::memset(map, 0x5a, 128);
  std::memcpy(map, &address, sizeof(address));
  int options[] = {interleave, swizzle, l2Promotion, outOfBounds};
  return record("cuTensorMapEncodeTiled",
                std::to_string(type) + ", " + std::to_string(rank) + ", " + number(address) + ", " +
                    list(extents, rank) + ", " + list(strides, rank - 1) + ", " + list(box, rank) +
                    ", " + list(elementStrides, rank) + ", " + list(options, 4));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  int code = record("cuMemAlloc_v2", std::to_string(bytes));
  *address = code ? 0
                  : reinterpret_cast<uintptr_t>(
                        std::aligned_alloc(256, std::max<size_t>(1, (bytes + 255) / 256) * 256));
  return code;
}
int cuMemFree_v2(uint64_t address) {
  std::free(reinterpret_cast<void *>(address));
  return record("cuMemFree_v2", place(address));
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  int code = record("cuMemHostAlloc", std::to_string(bytes) + ", " + std::to_string(flags));
  *memory = code ? nullptr : std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return code;
}
int cuMemFreeHost(void *memory) {
  std::free(memory);
  return record("cuMemFreeHost", place(reinterpret_cast<uintptr_t>(memory)));
}
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags) {
  *address = reinterpret_cast<uintptr_t>(memory);
  return record("cuMemHostGetDevicePointer_v2", "memory, " + std::to_string(flags));
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return record("cuMemcpyHtoD_v2", std::to_string(bytes));
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return record("cuMemcpyDtoH_v2", std::to_string(bytes));
}
int cuStreamSynchronize(void *stream) { return record("cuStreamSynchronize", number(stream)); }
int cuEventCreate(void **event, unsigned flags) {
  *event = handle(400);
  return record("cuEventCreate", std::to_string(flags));
}
int cuEventRecord(void *event, void *stream) {
  return record("cuEventRecord", number(event) + ", stream " + number(stream));
}
int cuEventSynchronize(void *event) { return record("cuEventSynchronize", number(event)); }
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  *milliseconds = 0.25f;
  return record("cuEventElapsedTime", number(start) + ", " + number(end));
}
int cuEventDestroy_v2(void *event) { return record("cuEventDestroy_v2", number(event)); }
int cuMemsetD8Async(uint64_t address, unsigned char byte, size_t bytes, void *stream) {
  if (!recording)
    return 0;
  std::memset(reinterpret_cast<void *>(address), byte, bytes);
  return record("cuMemsetD8Async",
                std::to_string(byte) + ", " + std::to_string(bytes) + ", stream " + number(stream));
}
}
