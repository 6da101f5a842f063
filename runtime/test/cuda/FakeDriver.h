//===- FakeDriver.h - what a test asks the fake driver ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H
#define PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
/// The calls since the last reset, in order.
std::vector<std::string> *fakeCalls();
/// Forgets all calls and contexts; from now on `function` fails with `code` ("" for none).
void fakeReset(const char *function, int code);
}

#endif // PAGEFOLD_RUNTIME_TEST_CUDA_FAKEDRIVER_H
