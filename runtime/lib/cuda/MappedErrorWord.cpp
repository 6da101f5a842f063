//===- MappedErrorWord.cpp - where kernels of a GPU report ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MappedErrorWord.h"

#include "DriverApi.h"

#include <atomic>
#include <utility>

using namespace pagefold::runtime;

Result<MappedErrorWord> MappedErrorWord::create(const CudaDriver &driver) {
  const std::string what = "cannot allocate page-locked memory for the error word";
  void *memory = nullptr;
  if (int code = driver.api().cuMemHostAlloc(&memory, sizeof(ErrorWord), kMappedHostMemory))
    return tl::unexpected(driver.error(what, code));
  MappedErrorWord word(driver, new (memory) ErrorWord{}, 0);
  if (int code = driver.api().cuMemHostGetDevicePointer(&word.device_, memory, 0))
    return tl::unexpected(driver.error(what, code));
  return word;
}

MappedErrorWord::MappedErrorWord(MappedErrorWord &&other) noexcept
    : driver_(other.driver_), word_(std::exchange(other.word_, nullptr)), device_(other.device_) {}

MappedErrorWord::~MappedErrorWord() {
  if (word_)
    (void)driver_.api().cuMemFreeHost(word_);
}

std::optional<ErrorWord> MappedErrorWord::take() {
  std::atomic_ref<int64_t> request(word_->request), reason(word_->reason);
  if (request.load(std::memory_order_acquire) == 0 || reason.load(std::memory_order_acquire) == 0)
    return std::nullopt;
  ErrorWord taken = *word_;
  reason.store(0, std::memory_order_relaxed);
  request.store(0, std::memory_order_release); // from here on a kernel may claim it again
  return taken;
}
