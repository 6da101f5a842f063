//===- CudaModule.cpp - modules and kernels on the GPU --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "pagefold/runtime/Cuda.h"

#include <utility>

using namespace pagefold::runtime;

Result<CudaModule> CudaModule::load(const CudaDriver &driver, std::string_view code) {
  const DriverApi &api = driver.api();
  void *context = nullptr;
  if (int status = api.cuCtxGetCurrent(&context))
    return tl::unexpected(driver.error("cannot load code on the GPU", status));
  if (!context)
    return fail(ErrorCode::InvalidArgument,
                "cannot load code on the GPU: expects a current CUDA context in this thread, got "
                "none; call useDevice, or let the framework initialise CUDA first");
  // PTX is text that ends with a zero.
  const std::string image(code);
  std::string log(8192, '\0');
  int names[] = {kJitErrorLogBuffer, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  void *module = nullptr;
  if (int status = api.cuModuleLoadDataEx(&module, image.c_str(), 2, names, values)) {
    if (status == kUnsupportedPtxVersion)
      return fail(
          ErrorCode::Unsupported,
          driver.error("cannot load code on the GPU", status).message() +
              ": the driver is older than this PTX; update NVIDIA's driver, or compile to a "
              "cubin");
    std::string words = log.c_str();
    return fail(ErrorCode::BadInput, driver.error("cannot load code on the GPU", status).message() +
                                         (words.empty() ? "" : ": " + words) +
                                         "; compile it for this GPU");
  }
  return CudaModule(driver, module);
}

CudaModule::CudaModule(CudaModule &&other) noexcept
    : driver_(other.driver_), module_(std::exchange(other.module_, nullptr)) {}

CudaModule::~CudaModule() {
  // Fails where the process's end has taken the context down before: nothing is left to unload
  // then.
  if (module_)
    (void)driver_.api().cuModuleUnload(module_);
}

Result<CudaKernel> CudaModule::kernel(const std::string &symbol, const CudaLaunchPlan &plan) const {
  const DriverApi &api = driver_.api();
  void *function = nullptr;
  if (int code = api.cuModuleGetFunction(&function, module_, symbol.c_str()))
    return fail(ErrorCode::NotFound,
                driver_.error("the code expects a kernel '" + symbol + "'", code).message());
  const std::string bytes = std::to_string(plan.sharedBytes);
  if (int code = api.cuFuncSetAttribute(function, kMaxDynamicSharedBytes,
                                        static_cast<int>(plan.sharedBytes)))
    return tl::unexpected(driver_.error(
        "kernel '" + symbol + "' expects " + bytes + " bytes of shared memory", code));
  return CudaKernel(driver_, function, symbol, plan);
}

int CudaKernel::enqueue(uint32_t ctas, void **parameters, CudaStream stream) const {
  const DriverApi &api = driver_.api();
  if (!plan_.early)
    return api.cuLaunchKernel(function_, ctas, 1, 1, plan_.threads, 1, 1, plan_.sharedBytes, stream,
                              parameters, nullptr);
  LaunchAttribute early{kProgrammaticStreamSerialization, {}, {}};
  early.flag = 1;
  LaunchConfig config{ctas, 1, 1, plan_.threads, 1, 1, plan_.sharedBytes, stream, &early, 1};
  return api.cuLaunchKernelEx(&config, function_, parameters, nullptr);
}

Status CudaKernel::launch(uint32_t ctas, std::span<void *const> parameters,
                          CudaStream stream) const {
  if (ctas == 0)
    return {}; // the driver takes an empty grid for a mistake
  if (int code = enqueue(ctas, const_cast<void **>(parameters.data()), stream))
    return tl::unexpected(driver_.error("cannot launch kernel '" + name_ + "' on " +
                                            std::to_string(ctas) + " CTAs of " +
                                            std::to_string(plan_.threads) + " threads",
                                        code));
  return {};
}

Result<RegisterUse> CudaKernel::registers() const {
  int registers = 0, local = 0;
  const DriverApi &api = driver_.api();
  int code = api.cuFuncGetAttribute(&registers, kThreadRegisters, function_);
  if (!code)
    code = api.cuFuncGetAttribute(&local, kLocalBytes, function_);
  if (code)
    return tl::unexpected(driver_.error("cannot ask for the registers of '" + name_ + "'", code));
  return RegisterUse{registers, local};
}
