//===- CudaEvent.cpp - moments on a stream --------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "pagefold/runtime/Cuda.h"

#include <utility>

using namespace pagefold::runtime;

Result<CudaEvent> CudaEvent::create(const CudaDriver &driver) {
  void *event = nullptr;
  if (int code = driver.api().cuEventCreate(&event, /*flags=*/0))
    return tl::unexpected(driver.error("cannot create a CUDA event", code));
  return CudaEvent(driver, event);
}

CudaEvent::CudaEvent(CudaEvent &&other) noexcept
    : driver_(other.driver_), event_(std::exchange(other.event_, nullptr)) {}

CudaEvent::~CudaEvent() {
  if (event_)
    (void)driver_.api().cuEventDestroy(event_);
}

Status CudaEvent::record(CudaStream stream) const {
  if (int code = driver_.api().cuEventRecord(event_, stream))
    return tl::unexpected(driver_.error("cannot record a CUDA event", code));
  return {};
}

Result<double> CudaEvent::secondsSince(const CudaEvent &start) const {
  float milliseconds = 0;
  int code = driver_.api().cuEventSynchronize(event_);
  if (!code)
    code = driver_.api().cuEventElapsedTime(&milliseconds, start.event_, event_);
  if (code)
    return tl::unexpected(driver_.error("cannot wait for a CUDA event", code));
  return milliseconds / 1e3;
}

Status pagefold::runtime::synchronize(const CudaDriver &driver, CudaStream stream) {
  if (int code = driver.api().cuStreamSynchronize(stream))
    return tl::unexpected(driver.error("cannot wait for a CUDA stream", code));
  return {};
}
