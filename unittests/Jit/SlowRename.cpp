//===- SlowRename.cpp - a rename that takes its time ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executable's renameat() stands before the C library's.
//
//===----------------------------------------------------------------------===//

#include "JitFixture.h"
#include <atomic>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<bool> isSlow = false;

void pagefold::jit::test::slowRenames(bool slow) { isSlow = slow; }

extern "C" int renameat(int fromDirectory, const char *from, int toDirectory,
                        const char *to) noexcept {
  const timespec pause{0, 200'000'000};
  if (isSlow)
    nanosleep(&pause, nullptr);
  return static_cast<int>(syscall(SYS_renameat2, fromDirectory, from, toDirectory, to, 0));
}
