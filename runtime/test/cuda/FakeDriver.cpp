//===- FakeDriver.cpp - a CUDA driver that writes down its calls ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exports the functions of libcuda.so.1 that the runtime calls. Each call adds a line to a log; a
// test may make one function fail.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"

#include <cstring>

namespace {
std::vector<std::string> calls;
std::string failing;
int failure = 0;
void *current = nullptr;

int record(const std::string &name, const std::string &arguments) {
  calls.push_back(name + "(" + arguments + ")");
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
} // namespace

extern "C" {
std::vector<std::string> *fakeCalls() { return &calls; }

void fakeReset(const char *function, int code) {
  calls.clear();
  failing = function;
  failure = code;
  current = nullptr;
}

int cuInit(unsigned flags) { return record("cuInit", std::to_string(flags)); }

int cuGetErrorString(int code, const char **text) {
  *text = code == 2 ? "out of memory" : "a fault made for a test";
  return 0;
}

int cuCtxGetCurrent(void **context) {
  *context = current;
  return record("cuCtxGetCurrent", "");
}
int cuCtxSetCurrent(void *context) {
  current = context;
  return record("cuCtxSetCurrent", number(context));
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 10;
  return record("cuDeviceGet", std::to_string(ordinal));
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = reinterpret_cast<void *>(uintptr_t(100 + device));
  return record("cuDevicePrimaryCtxRetain", std::to_string(device));
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned options, int *names,
                       void **values) {
  *module = reinterpret_cast<void *>(uintptr_t(200));
  int code = record("cuModuleLoadDataEx", static_cast<const char *>(image));
  for (unsigned i = 0; code && i < options; ++i)
    if (names[i] == 5) // the buffer of the assembler's words
      std::strcpy(static_cast<char *>(values[i]), "line 1: no such instruction");
  return code;
}
int cuModuleUnload(void *module) { return record("cuModuleUnload", number(module)); }

int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = reinterpret_cast<void *>(uintptr_t(300));
  return record("cuModuleGetFunction", number(module) + ", " + name);
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return record("cuFuncSetAttribute",
                number(function) + ", " + std::to_string(attribute) + ", " + std::to_string(value));
}

int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *stream,
                   void **parameters, void **extra) {
  unsigned sizes[] = {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes};
  std::string first = std::to_string(*static_cast<int *>(parameters[0]));
  return record("cuLaunchKernel", number(function) + ", " + list(sizes, 7) + ", stream " +
                                      number(stream) + ", first " + first +
                                      (extra ? ", extra" : ""));
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *elementStrides, int interleave, int swizzle,
                           int l2Promotion, int outOfBounds) {
  std::memset(map, 0x5a, 128);
  int options[] = {interleave, swizzle, l2Promotion, outOfBounds};
  return record("cuTensorMapEncodeTiled",
                std::to_string(type) + ", " + std::to_string(rank) + ", " + number(address) + ", " +
                    list(extents, rank) + ", " + list(strides, rank - 1) + ", " + list(box, rank) +
                    ", " + list(elementStrides, rank) + ", " + list(options, 4));
}
}
