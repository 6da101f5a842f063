//===- FakeDriver.h - what a test asks the fake driver ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H
#define PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A launch as the driver got it.
struct FakeLaunch {
  std::string kernel;
  unsigned ctas, threads, shared;
  void *stream;
  std::vector<std::string> parameters; ///< bytes, of kernels that fakeKernel() knows
};

extern "C" {
/// The calls and the launches since the last reset, in order.
std::vector<std::string> *fakeCalls();
std::vector<FakeLaunch> *fakeLaunches();
/// Forgets all calls, contexts, kernels and devices; from now on `function` fails with `code` (""
/// for none).
void fakeReset(const char *function, int code);
/// Which function fails from now on; all else stays.
void fakeFail(const char *function, int code);
/// Whether calls and launches are written down (they are at first): off to measure time.
void fakeRecord(bool on);
/// A device's attribute, in place of an H200's.
void fakeAttribute(int ordinal, int attribute, int value);
/// How many parameters a kernel has and their bytes: what a module would say.
void fakeKernel(const char *name, const size_t *sizes, size_t count);
/// All calls as lines, for callers without C++; valid until the next call.
const char *fakeCallText();
/// The bytes of a launch's parameter; null where there is none.
const char *fakeParameter(size_t launch, size_t parameter, size_t *size);
}

#endif // PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H
