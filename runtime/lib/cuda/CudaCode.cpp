//===- CudaCode.cpp - an artifact's code on the GPUs that use it ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaCode.h"

#include "../core/PlanRules.h"

using namespace pagefold::runtime;

CudaCode::~CudaCode() {
  while (!loaded_.empty()) {
    ContextScope scope(*driver_, loaded_.begin()->first);
    loaded_.erase(loaded_.begin());
  }
}

Result<CudaDriver> CudaCode::driver() {
  std::lock_guard lock(mutex_);
  if (driver_)
    return *driver_;
  Result<CudaDriver> opened = CudaDriver::open();
  if (opened)
    driver_.emplace(*opened);
  return opened;
}

std::optional<CudaDriver> CudaCode::openDriver() {
  std::lock_guard lock(mutex_);
  return driver_;
}

Status CudaCode::checkDevice(const CudaDevice &device) const {
  ComputeCapability made = *computeCapability(target_.cpu); // verify() has read it
  auto has = std::pair(device.major, device.minor), needs = std::pair(made.major, made.minor);
  if (made.exact ? has == needs : has >= needs)
    return {};
  auto number = [](std::pair<int, int> capability) {
    return std::to_string(capability.first) + "." + std::to_string(capability.second);
  };
  return fail(ErrorCode::Unsupported,
              "cannot load code on the GPU: expects a GPU of compute capability " + number(needs) +
                  (made.exact ? "" : " or later") + " (" + target_.cpu + " code), got " +
                  number(has) + "; run on such a GPU, or compile with target host");
}

Result<const LoadedCode *> CudaCode::in(void *context, const CudaDriver &driver) {
  std::lock_guard lock(mutex_);
  auto found = loaded_.find(context);
  if (found != loaded_.end())
    return &found->second;
  Result<CudaDevice> device = currentDevice(driver);
  if (!device)
    return tl::unexpected(device.error());
  if (Status status = checkDevice(*device); !status)
    return tl::unexpected(status.error());
  Result<CudaModule> module = CudaModule::load(driver, code_);
  if (!module)
    return tl::unexpected(module.error());
  return &loaded_.emplace(context, LoadedCode{*device, std::move(*module)}).first->second;
}
