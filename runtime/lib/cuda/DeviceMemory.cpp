//===- DeviceMemory.cpp - memory of a GPU ---------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "pagefold/runtime/Cuda.h"

#include <algorithm>
#include <utility>

using namespace pagefold::runtime;

static uint64_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

Result<DeviceMemory> DeviceMemory::allocate(const CudaDriver &driver, size_t bytes) {
  uint64_t place = 0;
  // The driver takes 0 bytes for a mistake.
  if (int code = driver.api().cuMemAlloc(&place, std::max<size_t>(bytes, 1)))
    return tl::unexpected(
        driver.error("cannot allocate " + std::to_string(bytes) + " bytes of device memory", code));
  return DeviceMemory(driver, place, bytes);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : driver_(other.driver_), address_(std::exchange(other.address_, 0)), size_(other.size_) {}

DeviceMemory::~DeviceMemory() {
  // Fails where the process's end has taken the context down before.
  if (address_)
    (void)driver_.api().cuMemFree(address_);
}

Status pagefold::runtime::copyToDevice(const CudaDriver &driver, void *to, const void *from,
                                       size_t bytes) {
  if (int code = bytes ? driver.api().cuMemcpyHtoD(address(to), from, bytes) : 0)
    return tl::unexpected(
        driver.error("cannot copy " + std::to_string(bytes) + " bytes to the GPU", code));
  return {};
}

Status pagefold::runtime::copyToHost(const CudaDriver &driver, void *to, const void *from,
                                     size_t bytes) {
  if (int code = bytes ? driver.api().cuMemcpyDtoH(to, address(from), bytes) : 0)
    return tl::unexpected(
        driver.error("cannot copy " + std::to_string(bytes) + " bytes from the GPU", code));
  return {};
}
