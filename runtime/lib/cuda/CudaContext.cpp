//===- CudaContext.cpp - the GPU that a thread works on -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaContext.h"

#include "DriverApi.h"

using namespace pagefold::runtime;

Result<void *> pagefold::runtime::currentContext(const CudaDriver &driver, int ordinal) {
  void *context = nullptr;
  const DriverApi &api = driver.api();
  if (int code = api.cuCtxGetCurrent(&context))
    return tl::unexpected(driver.error("cannot ask for the CUDA context", code));
  if (context)
    return context;
  if (ordinal < 0)
    return fail(ErrorCode::InvalidArgument,
                "expects a current CUDA context in this thread, got none; let the framework "
                "initialise CUDA in it first");
  if (Status status = driver.useDevice(ordinal); !status)
    return tl::unexpected(status.error());
  if (int code = api.cuCtxGetCurrent(&context))
    return tl::unexpected(driver.error("cannot ask for the CUDA context", code));
  return context;
}

/// The ordinal of a device handle.
static Result<int> ordinalOf(const CudaDriver &driver, int device) {
  const DriverApi &api = driver.api();
  int count = 0;
  int code = api.cuDeviceGetCount(&count);
  for (int ordinal = 0; !code && ordinal < count; ++ordinal) {
    int found = 0;
    code = api.cuDeviceGet(&found, ordinal);
    if (!code && found == device)
      return ordinal;
  }
  return tl::unexpected(driver.error("cannot find the device of the CUDA context", code));
}

Result<CudaDevice> pagefold::runtime::currentDevice(const CudaDriver &driver) {
  const DriverApi &api = driver.api();
  int device = 0;
  if (int code = api.cuCtxGetDevice(&device))
    return tl::unexpected(driver.error("cannot ask for the device of the CUDA context", code));
  Result<int> ordinal = ordinalOf(driver, device);
  if (!ordinal)
    return tl::unexpected(ordinal.error());
  CudaDevice found;
  found.ordinal = *ordinal;
  struct {
    int attribute;
    int *value;
  } const questions[] = {{kCapabilityMajor, &found.major},
                         {kCapabilityMinor, &found.minor},
                         {kMultiprocessors, &found.multiprocessors},
                         {kSharedBytesOfACta, &found.sharedBytes}};
  for (const auto &question : questions)
    if (int code = api.cuDeviceGetAttribute(question.value, question.attribute, device))
      return tl::unexpected(driver.error(
          "cannot ask for an attribute of CUDA device " + std::to_string(found.ordinal), code));
  return found;
}

ContextScope::ContextScope(const CudaDriver &driver, void *context) : driver_(driver) {
  // What fails here, at a process's end say, fails again in the calls that follow.
  (void)driver_.api().cuCtxGetCurrent(&before_);
  (void)driver_.api().cuCtxSetCurrent(context);
}

ContextScope::~ContextScope() { (void)driver_.api().cuCtxSetCurrent(before_); }
