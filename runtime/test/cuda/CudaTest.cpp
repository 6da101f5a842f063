//===- CudaTest.cpp - the CUDA path against a fake driver -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Cuda.h"
#include "FakeDriver.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace pagefold::runtime;

namespace {
class Cuda : public ::testing::Test {
protected:
  void SetUp() override { fakeReset("", 0); }
  static CudaDriver driver() { return *CudaDriver::open(PAGEFOLD_FAKE_DRIVER); }

  /// A driver with a current context, and no calls so far.
  static CudaDriver readyDriver() {
    CudaDriver ready = driver();
    EXPECT_TRUE(ready.useDevice(0));
    fakeCalls()->clear();
    return ready;
  }
};

void *handle(uintptr_t value) { return reinterpret_cast<void *>(value); }

/// [batch 2, tokens 300, heads 4, 128] in bf16, as (64, tokens, panels, heads, batch).
TensorView view() {
  return {reinterpret_cast<const void *>(uintptr_t(4096)),
          {64, 300, 2, 4, 2},
          {1024, 128, 256, 307200}};
}
TensorMapRecipe recipe() { return {DType::BF16, {64, 128, 2, 1, 1}}; }

std::string refusal(const TensorMapRecipe &recipe, const TensorView &view) {
  CudaDriver driver = *CudaDriver::open(PAGEFOLD_FAKE_DRIVER);
  Result<TensorMap> map = encodeTensorMap(driver, recipe, view);
  return map ? "" : map.error().message();
}
} // namespace

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

TEST_F(Cuda, WithoutADriverThereIsASentence) {
  Result<CudaDriver> none = CudaDriver::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::NotFound);
  EXPECT_NE(none.error().message().find(
                "cannot open the CUDA driver: expects '/nowhere/libcuda.so.1', got: "),
            std::string::npos);
  EXPECT_NE(none.error().message().find("; install NVIDIA's driver, or compile with target host"),
            std::string::npos);
}

TEST_F(Cuda, ALibraryThatIsNoDriverNamesTheMissingFunction) {
  Result<CudaDriver> other = CudaDriver::open("libdl.so.2");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::Unsupported);
  EXPECT_NE(other.error().message().find("expects the function 'cuInit'"), std::string::npos);
}

TEST_F(Cuda, ADriverThatDoesNotStartSaysWhy) {
  fakeReset("cuInit", 100);
  Result<CudaDriver> failed = CudaDriver::open(PAGEFOLD_FAKE_DRIVER);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(),
            "cannot start the CUDA driver: got CUDA error 100 (a fault made for a test)");
}

TEST_F(Cuda, UseDeviceMakesItsPrimaryContextCurrent) {
  ASSERT_TRUE(driver().useDevice(3));
  EXPECT_EQ(*fakeCalls(),
            (std::vector<std::string>{"cuInit(0)", "cuDeviceGet(3)", "cuDevicePrimaryCtxRetain(13)",
                                      "cuCtxSetCurrent(113)"}));
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

TEST_F(Cuda, LoadsLaunchesOnTheCallersStreamAndUnloads) {
  CudaDriver ready = readyDriver();
  {
    // Views need no zero at their end; the driver's text does.
    Result<CudaModule> module =
        CudaModule::load(ready, std::string_view(".version 8.6 and more").substr(0, 12));
    ASSERT_TRUE(module);
    Result<CudaKernel> kernel = module->kernel("prefill", {384, 196704});
    ASSERT_TRUE(kernel);
    int first = 7;
    void *parameters[] = {&first};
    const size_t size = sizeof(first);
    fakeKernel("prefill", &size, 1);
    ASSERT_TRUE(kernel->launch(132, parameters, reinterpret_cast<void *>(uintptr_t(55))));
    ASSERT_EQ(fakeLaunches()->size(), 1u);
    EXPECT_EQ(fakeLaunches()->front().parameters[0], std::string("\7\0\0\0", 4));
  }
  EXPECT_EQ(*fakeCalls(),
            (std::vector<std::string>{"cuCtxGetCurrent()", "cuModuleLoadDataEx(.version 8.6)",
                                      "cuModuleGetFunction(200, prefill)",
                                      "cuFuncSetAttribute(300, 8, 196704)",
                                      "cuLaunchKernel(300, [132 1 1 384 1 1 196704], stream 55)",
                                      "cuModuleUnload(200)"}));
}

TEST_F(Cuda, AnEmptyGridLaunchesNothing) {
  CudaDriver ready = readyDriver();
  Result<CudaModule> module = CudaModule::load(ready, "code");
  ASSERT_TRUE(module);
  Result<CudaKernel> kernel = module->kernel("prefill", {384, 1024});
  ASSERT_TRUE(kernel);
  fakeCalls()->clear();
  EXPECT_TRUE(kernel->launch(0, {}, nullptr));
  EXPECT_TRUE(fakeCalls()->empty());
}

TEST_F(Cuda, LoadingWithoutAContextSaysWhatToDo) {
  Result<CudaModule> module = CudaModule::load(driver(), "code");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().message(), "cannot load code on the GPU: expects a current CUDA context "
                                      "in this thread, got none; call useDevice, or "
                                      "let the framework initialise CUDA first");
}

TEST_F(Cuda, CodeThatTheDriverRefusesComesWithTheAssemblersWords) {
  CudaDriver ready = driver();
  fakeReset("cuModuleLoadDataEx", 218);
  ASSERT_TRUE(ready.useDevice(0));
  Result<CudaModule> module = CudaModule::load(ready, "code");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code(), ErrorCode::BadInput);
  EXPECT_EQ(module.error().message(),
            "cannot load code on the GPU: got CUDA error 218 (a fault made for a test): line "
            "1: no such instruction; compile it for this GPU");
}

TEST_F(Cuda, FailedCallsNameTheKernel) {
  CudaDriver ready = driver();
  for (const char *function : {"cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernel"}) {
    fakeReset(function, 2);
    ASSERT_TRUE(ready.useDevice(0));
    Result<CudaModule> module = CudaModule::load(ready, "code");
    ASSERT_TRUE(module);
    Result<CudaKernel> kernel = module->kernel("prefill", {384, 1024});
    int first = 0;
    void *parameters[] = {&first};
    Status launched =
        kernel ? kernel->launch(1, parameters, nullptr) : tl::unexpected(kernel.error());
    ASSERT_FALSE(launched) << function;
    EXPECT_NE(launched.error().message().find("kernel 'prefill'"), std::string::npos) << function;
    EXPECT_NE(launched.error().message().find("CUDA error 2 (out of memory)"), std::string::npos)
        << function;
  }
}

//===----------------------------------------------------------------------===//
// Memory and time
//===----------------------------------------------------------------------===//

TEST_F(Cuda, MemoryIsAllocatedCopiedAndFreed) {
  CudaDriver ready = readyDriver();
  {
    Result<DeviceMemory> memory = DeviceMemory::allocate(ready, 5);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->size(), 5u);
    char back[5] = {};
    ASSERT_TRUE(copyToDevice(ready, memory->data(), "fold", 5));
    ASSERT_TRUE(copyToHost(ready, back, memory->data(), 5));
    EXPECT_STREQ(back, "fold");
    ASSERT_TRUE(copyToHost(ready, nullptr, nullptr, 0)) << "nothing to copy";
  }
  EXPECT_EQ(*fakeCalls(), (std::vector<std::string>{"cuMemAlloc_v2(5)", "cuMemcpyHtoD_v2(5)",
                                                    "cuMemcpyDtoH_v2(5)", "cuMemFree_v2(memory)"}));
}

TEST_F(Cuda, EventsMeasureAStream) {
  CudaDriver ready = readyDriver();
  {
    Result<CudaEvent> start = CudaEvent::create(ready), end = CudaEvent::create(ready);
    ASSERT_TRUE(start && end);
    ASSERT_TRUE(start->record(handle(7)));
    ASSERT_TRUE(end->record(handle(7)));
    Result<double> seconds = end->secondsSince(*start);
    ASSERT_TRUE(seconds);
    EXPECT_EQ(*seconds, 0.25e-3);
    ASSERT_TRUE(synchronize(ready, handle(7)));
  }
  EXPECT_EQ(*fakeCalls(),
            (std::vector<std::string>{"cuEventCreate(0)", "cuEventCreate(0)",
                                      "cuEventRecord(400, stream 7)",
                                      "cuEventRecord(400, stream 7)", "cuEventSynchronize(400)",
                                      "cuEventElapsedTime(400, 400)", "cuStreamSynchronize(7)",
                                      "cuEventDestroy_v2(400)", "cuEventDestroy_v2(400)"}));
}

TEST_F(Cuda, FailedCopiesAndWaitsAreErrors) {
  CudaDriver ready = readyDriver();
  char byte = 0;
  fakeFail("cuMemAlloc_v2", 2);
  EXPECT_EQ(DeviceMemory::allocate(ready, 9).error().code(), ErrorCode::OutOfCapacity);
  fakeFail("cuMemcpyHtoD_v2", 700);
  EXPECT_EQ(copyToDevice(ready, &byte, &byte, 1).error().message(),
            "cannot copy 1 bytes to the GPU: got CUDA error 700 (a fault made for a test)");
  fakeFail("cuMemcpyDtoH_v2", 700);
  EXPECT_EQ(copyToHost(ready, &byte, &byte, 1).error().message(),
            "cannot copy 1 bytes from the GPU: got CUDA error 700 (a fault made for a test)");
  fakeFail("cuStreamSynchronize", 719);
  EXPECT_EQ(synchronize(ready, nullptr).error().message(),
            "cannot wait for a CUDA stream: got CUDA error 719 (a fault made for a test)");
  fakeFail("cuEventCreate", 700);
  EXPECT_EQ(CudaEvent::create(ready).error().message(),
            "cannot create a CUDA event: got CUDA error 700 (a fault made for a test)");
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

TEST_F(Cuda, EncodesATensorMap) {
  CudaDriver ready = readyDriver();
  Result<TensorMap> map = encodeTensorMap(ready, recipe(), view());
  ASSERT_TRUE(map);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&*map) % 64, 0u);
  EXPECT_EQ(std::to_integer<int>(map->bytes[127]), 0x5a);
  EXPECT_EQ(*fakeCalls(),
            (std::vector<std::string>{
                "cuTensorMapEncodeTiled(9, 5, 4096, [64 300 2 4 2], [1024 128 256 307200], "
                "[64 128 2 1 1], [1 1 1 1 1], [0 3 3 0])"}));
}

TEST_F(Cuda, TensorMapsThatTheChipCannotAddressAreRefusedWithTheNumber) {
  auto withRecipe = [](auto change) {
    TensorMapRecipe changed = recipe();
    change(changed);
    return refusal(changed, view());
  };
  auto withView = [](auto change) {
    TensorView changed = view();
    change(changed);
    return refusal(recipe(), changed);
  };
  EXPECT_EQ(withRecipe([](auto &r) { r.element = DType::F32; }),
            "a tensor map expects bf16, f16 or f8e4m3 elements, got f32");
  EXPECT_EQ(withRecipe([](auto &r) { r.box = {}; }),
            "a tensor map expects a box of 1 to 5 dimensions, got 0");
  EXPECT_EQ(withRecipe([](auto &r) { r.box[1] = 512; }),
            "a tensor map expects box extents from 1 to 256, got 512");
  EXPECT_EQ(withRecipe([](auto &r) { r.box[0] = 128; }),
            "a tensor map expects a box row of at most 128 bytes, got 256");
  EXPECT_EQ(
      withView([](auto &v) { v.strides.pop_back(); }),
      "a tensor map of 5 dimensions expects as many extents and one stride less, got 5 and 3");
  EXPECT_EQ(withView([](auto &v) { v.address = reinterpret_cast<const void *>(uintptr_t(4104)); }),
            "a tensor map expects an address aligned to 16 bytes, got 4104; copy the tensor to "
            "memory of its own");
  EXPECT_EQ(withView([](auto &v) { v.extents[1] = 0; }),
            "a tensor map expects extents from 1 to 2^32, got 0");
  EXPECT_EQ(withView([](auto &v) { v.strides[0] = 1000; }),
            "a tensor map expects strides below 2^40 that are multiples of 16 bytes, got 1000; "
            "make the tensor contiguous");
}

TEST_F(Cuda, AMapThatTheDriverRefusesIsAnError) {
  CudaDriver ready = driver();
  fakeReset("cuTensorMapEncodeTiled", 1);
  Result<TensorMap> map = encodeTensorMap(ready, recipe(), view());
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().message(),
            "cannot encode a tensor map: got CUDA error 1 (a fault made for a test)");
}
