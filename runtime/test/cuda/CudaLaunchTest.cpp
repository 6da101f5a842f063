//===- CudaLaunchTest.cpp - functions on a GPU, by the fake driver --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <chrono>
#include <cstring>
#include <thread>

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
std::string words(std::initializer_list<int64_t> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()),
                     values.size() * sizeof(int64_t));
}

/// Calls since the last reset whose text begins so.
size_t count(std::string_view beginning) {
  size_t found = 0;
  for (const std::string &call : *fakeCalls())
    found += call.starts_with(beginning);
  return found;
}
} // namespace

//===----------------------------------------------------------------------===//
// What the driver is asked to do
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, LoadingNeedsNoDriverAndALaunchOpensIt) {
  EXPECT_TRUE(fakeCalls()->empty());
  EXPECT_NE(function_->planJson().find("prefill_k0"), std::string::npos);
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  EXPECT_EQ(count("cuInit"), 1u);
  EXPECT_EQ(count("cuModuleLoadDataEx(.version 8.6)"), 1u);
}

TEST_F(CudaLaunch, TheFirstLaunchMakesReadyTheNextOnlyLaunches) {
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  fakeCalls()->clear();
  ASSERT_EQ(launch(arguments), "");
  // Nothing else: no wait, no allocation, no copy, no map encoded again.
  EXPECT_EQ(*fakeCalls(), (std::vector<std::string>{
                              "cuCtxGetCurrent()",
                              "cuLaunchKernel(300, [132 1 1 384 1 1 196720], stream 55)",
                              "cuLaunchKernel(301, [2 1 1 256 1 1 0], stream 55)",
                          }));
}

TEST_F(CudaLaunch, AnEarlyKernelMayStartBeforeTheOneAhead) {
  Plan plan = cudaPlan();
  plan.functions[0].kernels[1].cuda->early = true;
  load(plan);
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  EXPECT_EQ(count("cuLaunchKernel(300, [132 1 1 384 1 1 196720], stream 55)"), 1u);
  EXPECT_EQ(count("cuLaunchKernelEx(301, [2 1 1 256 1 1 0], stream 55, attribute 6 = 1)"), 1u);
}

TEST_F(CudaLaunch, ParametersAreAsThePlanSays) {
  PrefillCase arguments;
  alignas(64) std::byte workspace[kCudaWorkspace];
  arguments.q.byteOffset = 4096;
  arguments.q.strides = {2048, 256, 1};
  ASSERT_EQ(launch(arguments, workspace, sizeof(workspace)), "");
  ASSERT_EQ(fakeLaunches()->size(), 2u);
  const std::vector<std::string> &space = (*fakeLaunches())[0].parameters;
  ASSERT_EQ(space.size(), 9u);
  EXPECT_EQ(read<uint64_t>(space[0]), 0x10001000u) << "the map of q, at its byte offset";
  EXPECT_EQ(read<uint64_t>(space[1]), 0x30000000u) << "the map of out0";
  EXPECT_EQ(read<uint64_t>(space[2]), 0x20000000u);
  EXPECT_EQ(read<int32_t>(space[3]), 2) << "rows has batch + 1 elements";
  EXPECT_EQ(read<int64_t>(space[4]), 2048);
  EXPECT_EQ(read<float>(space[5]), 0.125f);
  EXPECT_EQ(read<uint64_t>(space[6]), reinterpret_cast<uintptr_t>(workspace + 128));
  EXPECT_NE(read<uint64_t>(space[7]), 0u);
  EXPECT_EQ(read<uint32_t>(space[8]), 0xfffffffeu);
  auto place = reinterpret_cast<int64_t>(workspace);
  EXPECT_EQ((*fakeLaunches())[1].parameters[0],
            words({0x10001000, 0x10001000, 0,          300, 8,   128,  2048,       256,
                   1,          0x20000000, 0x20000000, 0,   3,   1,    0x3e000000, 0x30000000,
                   0x30000000, 0,          300,        8,   128, 1024, 128,        1,
                   place,      place,      0,          512, 1}));
  EXPECT_EQ(count("cuTensorMapEncodeTiled(9, 4, 268439552, [64 300 2 8], [4096 128 512], "
                  "[64 128 2 1], [1 1 1 1], [0 3 3 0])"),
            1u);
}

TEST_F(CudaLaunch, MapsAreEncodedAgainWhereATensorMovesOrChanges) {
  PrefillCase first, moved, longer(301);
  moved.q.address += 4096;
  for (PrefillCase *arguments : {&first, &moved, &longer, &first, &moved, &longer})
    ASSERT_EQ(launch(*arguments), "");
  // Two maps of each of the tensors' places and shapes, less what two of them share.
  EXPECT_EQ(count("cuTensorMapEncodeTiled"), 5u);
}

TEST_F(CudaLaunch, ATensorWithoutElementsHasAMapThatTouchesNothingOfIt) {
  PrefillCase arguments(0);
  arguments.q.address = arguments.out.address = 0;
  ASSERT_EQ(launch(arguments), "");
  ASSERT_EQ(fakeLaunches()->size(), 2u);
  const std::vector<std::string> &space = (*fakeLaunches())[0].parameters;
  EXPECT_EQ(read<uint64_t>(space[0]), read<uint64_t>(space[7])) << "the error word's place";
  EXPECT_EQ(count("cuTensorMapEncodeTiled(9, 4, " + std::to_string(read<uint64_t>(space[7])) +
                  ", [1 1 1 1], [16 16 16], "),
            2u);
}

TEST_F(CudaLaunch, AMapMayBeOfATensorInTheWorkspace) {
  Plan plan = cudaPlan();
  ParameterPlan &map = plan.functions[0].kernels[0].cuda->params[0];
  map.workspace = 256;
  map.dims[1] = {{}, 0, 2048, {}};
  map.dims[3] = {8, {}, 256, {}};
  load(plan);
  alignas(64) std::byte workspace[kCudaWorkspace];
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments, workspace, sizeof(workspace)), "");
  EXPECT_EQ(read<std::byte *>((*fakeLaunches())[0].parameters[0]), workspace + 256);
  EXPECT_EQ(count("cuTensorMapEncodeTiled(9, 4, " +
                  std::to_string(reinterpret_cast<uintptr_t>(workspace + 256)) +
                  ", [64 300 2 8], [2048 128 256], "),
            1u);
}

TEST_F(CudaLaunch, StridesThatAreNeverUsedMayBeAnything) {
  PrefillCase arguments(1);
  arguments.q.strides = {3, 128, 1};
  ASSERT_EQ(launch(arguments), "");
  EXPECT_EQ(count("cuTensorMapEncodeTiled(9, 4, 268435456, [64 1 2 8], [16 128 256], "), 1u);
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, AFreshWorkspaceIsFilledOnTheStream) {
  alignas(64) std::byte workspace[kCudaWorkspace];
  std::memset(workspace, 0x5a, sizeof(workspace));
  ASSERT_TRUE(CudaDriver::open()->useDevice(0));
  fakeCalls()->clear();
  ASSERT_TRUE(function_->initWorkspace(workspace, sizeof(workspace), reinterpret_cast<void *>(7)));
  EXPECT_EQ(count("cuMemsetD8Async(0, 256, stream 7)"), 1u);
  EXPECT_EQ(count("cuMemsetD8Async(255, 64, stream 7)"), 1u);
  EXPECT_EQ(count("cuMemAlloc"), 0u);
  EXPECT_EQ(workspace[255], std::byte(0));
  EXPECT_EQ(workspace[256], std::byte(0xff));
  EXPECT_EQ(workspace[320], std::byte(0x5a));
}

TEST_F(CudaLaunch, AFreshWorkspaceNeedsAContext) {
  alignas(64) std::byte workspace[kCudaWorkspace];
  Status status = function_->initWorkspace(workspace, sizeof(workspace), nullptr);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(),
            "expects a current CUDA context in this thread, got none; let "
            "the framework initialise CUDA in it first");
}

TEST_F(CudaLaunch, WithoutAWorkspaceEachStreamHasOne) {
  PrefillCase arguments;
  for (uintptr_t stream : {55, 56, 55, 56})
    ASSERT_EQ(launch(arguments, nullptr, 0, stream), "");
  EXPECT_EQ(count("cuMemAlloc_v2(512)"), 2u);
  EXPECT_EQ(count("cuMemsetD8Async(255, 64, stream 55)"), 1u);
  EXPECT_EQ(count("cuMemsetD8Async(255, 64, stream 56)"), 1u);
  const std::vector<FakeLaunch> &launches = *fakeLaunches();
  EXPECT_NE(launches[0].parameters[6], launches[2].parameters[6]);
  EXPECT_EQ(launches[0].parameters[6], launches[4].parameters[6]);
  module_.reset();
  EXPECT_EQ(count("cuMemFree_v2(memory)"), 2u);
  EXPECT_EQ(count("cuMemFreeHost(memory)"), 1u);
  EXPECT_EQ(count("cuModuleUnload(200)"), 1u);
}

TEST_F(CudaLaunch, WorkspacesAreCheckedAsOnTheHost) {
  PrefillCase arguments;
  alignas(64) std::byte workspace[kCudaWorkspace];
  EXPECT_EQ(launch(arguments, workspace, sizeof(workspace) - 1),
            "function 'prefill': the workspace expects at least 512 bytes, got 511; ask "
            "pagefold_function_workspace_size");
  EXPECT_EQ(
      launch(arguments, workspace + 16, sizeof(workspace)),
      "function 'prefill': the workspace expects an address that is a multiple of 64, got one "
      "at 16 past it");
  EXPECT_EQ(launch(arguments, reinterpret_cast<void *>(arguments.out.address), 512),
            "function 'prefill', argument 3 'out0': expects memory outside the workspace, got an "
            "overlap");
  EXPECT_TRUE(fakeLaunches()->empty());
}

TEST_F(CudaLaunch, CountersAreClearedOnTheStreamAndReadFromTheDevice) {
  Plan plan = cudaPlan();
  plan.functions[0].counters = 64;
  load(plan);
  alignas(64) std::byte workspace[kCudaWorkspace];
  std::memset(workspace, 0x5a, sizeof(workspace));
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments, workspace, sizeof(workspace)), "");
  EXPECT_EQ(count("cuMemsetD8Async(0, 64, stream 55)"), 1u);
  const int64_t full = 7;
  std::memcpy(workspace + 64, &full, sizeof(full));
  Result<TileCounters> counters = function_->counters(workspace);
  ASSERT_TRUE(counters) << counters.error().message();
  EXPECT_EQ(counters->tilesFull, 7);
  EXPECT_EQ(counters->tilesPartial, 0);
  EXPECT_EQ(count("cuMemcpyDtoH_v2(64)"), 1u);
}

//===----------------------------------------------------------------------===//
// Errors of a request
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, TheNextLaunchReportsAnErrorAndLaunchesNothing) {
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  auto *word = reinterpret_cast<ErrorWord *>(read<uint64_t>((*fakeLaunches())[0].parameters[7]));
  *word = {3, static_cast<int64_t>(ErrorReason::PageOutOfPool), 99, 64};
  fakeLaunches()->clear();
  EXPECT_EQ(
      launch(arguments),
      "function 'prefill', request 2: page id 99 expects 0 <= id < 64; fix the page table; the "
      "results of the other requests are valid; an earlier launch reported this and nothing "
      "has been launched now: launch again");
  EXPECT_TRUE(fakeLaunches()->empty());
  EXPECT_EQ(word->request, 0);
  EXPECT_EQ(launch(arguments), "") << "said once";
  EXPECT_EQ(fakeLaunches()->size(), 2u);
}

TEST_F(CudaLaunch, AnErrorCanBeAskedFor) {
  EXPECT_TRUE(function_->check()) << "before any launch";
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  EXPECT_TRUE(function_->check());
  auto *word = reinterpret_cast<ErrorWord *>(read<uint64_t>((*fakeLaunches())[0].parameters[7]));
  *word = {1, 0, 0, 0};
  EXPECT_TRUE(function_->check()) << "claimed, and still being written";
  *word = {1, static_cast<int64_t>(ErrorReason::LengthOutOfBounds), -1, 512};
  Status status = function_->check();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::BadInput);
  EXPECT_EQ(status.error().message(),
            "function 'prefill', request 0: length -1 expects 0 <= length <= 512, the declared "
            "kv_len; fix the lengths or compile with a larger kv_len; the results of the other "
            "requests are valid");
  EXPECT_TRUE(function_->check());
  EXPECT_EQ(launch(arguments), "");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, ArgumentsLieWhereTheTargetSays) {
  PrefillCase onHost;
  onHost.rows.device = {kDLCPU, 0};
  EXPECT_EQ(
      launch(onHost),
      "function 'prefill', argument 1 'rows': expects a tensor in CUDA memory (device type 2), "
      "got device type 1; copy it to the GPU or compile with target host");
  PrefillCase scalar;
  scalar.scale.device = {kDLCUDA, 0};
  EXPECT_EQ(launch(scalar),
            "function 'prefill', argument 2 'scale': expects a scalar in host memory (device type "
            "1), got device type 2; a launch reads it without waiting for the GPU");
  PrefillCase spread;
  spread.out.device.device_id = 1;
  EXPECT_EQ(launch(spread),
            "function 'prefill', argument 3 'out0': expects a tensor on device 0 as "
            "'q' is, got device 1; copy it there");
  EXPECT_TRUE(fakeCalls()->empty()) << "nothing was asked of the driver";
}

TEST_F(CudaLaunch, WhatTheChipCannotAddressIsRefusedBeforeAnythingIsLaunched) {
  PrefillCase misaligned;
  misaligned.out.address += 8;
  EXPECT_EQ(launch(misaligned),
            "function 'prefill', argument 3 'out0': a tensor map expects an address aligned to 16 "
            "bytes, got 805306376; copy the tensor to memory of its own");
  PrefillCase strided;
  strided.q.strides = {1028, 128, 1};
  EXPECT_EQ(launch(strided),
            "function 'prefill', argument 0 'q': a tensor map expects strides below 2^40 that are "
            "multiples of 16 bytes, got 2056; make the tensor contiguous");
  EXPECT_TRUE(fakeLaunches()->empty());
  PrefillCase right;
  EXPECT_EQ(launch(right), "");
}

/// Rows that the kernel itself reads or writes 16 bytes at a time, without a map.
TEST_F(CudaLaunch, WhatAKernelAccessesInVectorsIsRefusedBeforeAnythingIsLaunched) {
  Plan plan = cudaPlan();
  std::vector<ParameterPlan> &params = plan.functions[0].kernels[0].cuda->params;
  params[1] = parameter(ParameterPlan::Kind::Pointer, 3);
  plan.functions[0].args[3].align = 16;
  load(plan);
  const size_t sizes[] = {128, 8, 8, 4, 8, 4, 8, 8, 4};
  fakeKernel("prefill_k0", sizes, std::size(sizes));
  PrefillCase misaligned;
  misaligned.out.address += 8;
  EXPECT_EQ(launch(misaligned),
            "function 'prefill', argument 3 'out0': expects an address that is a multiple of 16 "
            "bytes, got one at 8 past it; copy the tensor to memory of its own");
  PrefillCase strided;
  strided.out.strides = {1024, 132, 1};
  EXPECT_EQ(launch(strided),
            "function 'prefill', argument 3 'out0': expects strides that are multiples of 8 "
            "elements (16 bytes), got 132 in dimension 1; make the tensor contiguous");
  EXPECT_TRUE(fakeLaunches()->empty());
  PrefillCase one(1), none(0), right;
  one.out.strides = {1028, 128, 1}; // of one row: never used
  none.out.address = 0;
  for (PrefillCase *fine : {&one, &none, &right})
    EXPECT_EQ(launch(*fine), "");
  ASSERT_EQ(fakeLaunches()->size(), 6u); // of two kernels
  EXPECT_EQ(read<uint64_t>((*fakeLaunches())[4].parameters.at(1)), right.out.address);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, WithoutAContextThePrimaryOneOfTheTensorsBecomesCurrent) {
  PrefillCase arguments(300, 2);
  ASSERT_EQ(launch(arguments), "");
  EXPECT_EQ(count("cuCtxSetCurrent(112)"), 1u);
}

TEST_F(CudaLaunch, TensorsOfAnotherDeviceThanTheContextsAreRefused) {
  ASSERT_TRUE(CudaDriver::open()->useDevice(1));
  PrefillCase arguments;
  EXPECT_EQ(launch(arguments),
            "function 'prefill', argument 0 'q': expects a tensor on device 1, that of the current "
            "CUDA context, got device 0; make the tensors' device current for the launch");
  EXPECT_TRUE(fakeLaunches()->empty());
}

TEST_F(CudaLaunch, TwoDevicesHaveEachTheirOwn) {
  constexpr int kMultiprocessors = 16;
  fakeAttribute(1, kMultiprocessors, 78);
  PrefillCase first, second(300, 1);
  ASSERT_EQ(launch(first), "");
  std::thread([&] { EXPECT_EQ(launch(second), ""); }).join(); // no context is current there
  ASSERT_EQ(launch(first), "");
  EXPECT_EQ(count("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(count("cuMemHostAlloc(32, 2)"), 2u);
  EXPECT_EQ(count("cuMemAlloc_v2(512)"), 2u);
  const std::vector<FakeLaunch> &launches = *fakeLaunches();
  ASSERT_EQ(launches.size(), 6u);
  EXPECT_EQ(launches[0].ctas, 132u);
  EXPECT_EQ(launches[2].ctas, 78u);
  EXPECT_NE(launches[0].parameters[7], launches[2].parameters[7]) << "the error words";
  EXPECT_EQ(launches[0].parameters[7], launches[4].parameters[7]);
  fakeCalls()->clear();
  module_.reset();
  EXPECT_EQ(count("cuModuleUnload"), 2u);
  EXPECT_EQ(count("cuCtxSetCurrent(111)"), 2u) << "each thing is released in its context";
  EXPECT_EQ(fakeCalls()->back(), "cuCtxSetCurrent(110)") << "what was current is current again";
}

TEST_F(CudaLaunch, ManyThreadsLaunchAtOnce) {
  constexpr size_t kThreads = 4, kLaunches = 50;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([this, thread] {
      PrefillCase arguments(300, static_cast<int32_t>(thread % 2));
      for (size_t i = 0; i < kLaunches; ++i)
        EXPECT_EQ(launch(arguments, nullptr, 0, 55 + thread), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeLaunches()->size(), 2 * kThreads * kLaunches);
  EXPECT_EQ(count("cuModuleLoadDataEx"), 2u) << "once for each device";
  EXPECT_EQ(count("cuMemAlloc_v2"), kThreads) << "once for each stream";
}

//===----------------------------------------------------------------------===//
// What a machine may lack
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, WithoutADriverALaunchSaysSo) {
  setenv("PAGEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  PrefillCase arguments;
  std::string said = launch(arguments);
  EXPECT_TRUE(
      said.starts_with("cannot open the CUDA driver: expects '/nowhere/libcuda.so.1', got: "))
      << said;
  setenv("PAGEFOLD_CUDA_DRIVER", PAGEFOLD_FAKE_DRIVER, 1);
  EXPECT_EQ(launch(arguments), "") << "and the next one finds it";
}

TEST_F(CudaLaunch, AnotherChipIsRefused) {
  constexpr int kMajor = 75;
  fakeAttribute(0, kMajor, 8);
  PrefillCase arguments;
  EXPECT_EQ(
      launch(arguments),
      "cannot load code on the GPU: expects a GPU of compute capability 9.0 (sm_90a code), got "
      "8.0; run on such a GPU, or compile with target host");
  fakeAttribute(0, kMajor, 10);
  EXPECT_NE(launch(arguments).find("got 10.0; "), std::string::npos) << "sm_90a is for one chip";
  EXPECT_EQ(count("cuModuleLoadDataEx"), 0u);
  Plan plan = cudaPlan();
  plan.target.cpu = "sm_90";
  load(plan);
  EXPECT_EQ(launch(arguments), "") << "sm_90 is for later ones too";
}

TEST_F(CudaLaunch, TooMuchSharedMemoryIsRefused) {
  constexpr int kSharedBytes = 97;
  fakeAttribute(0, kSharedBytes, 101376);
  PrefillCase arguments;
  EXPECT_EQ(launch(arguments),
            "kernel 'prefill_k0' expects 196720 bytes of shared memory, this GPU "
            "has 101376; compile with smaller tiles");
}

TEST_F(CudaLaunch, FailedCallsAreErrorsAndTheNextLaunchWorks) {
  struct Row {
    const char *function;
    int code;
    const char *says;
  };
  const Row rows[] = {
      {"cuMemAlloc_v2", 2,
       "function 'prefill', for its workspace: cannot allocate 512 bytes of device memory: got "
       "CUDA "
       "error 2 (out of memory)"},
      {"cuMemHostAlloc", 2,
       "cannot allocate page-locked memory for the error word: got CUDA error 2 (out of memory)"},
      {"cuModuleLoadDataEx", 222,
       "cannot load code on the GPU: got CUDA error 222 (a fault made for a test): the driver is "
       "older than this PTX; update NVIDIA's driver, or compile to a cubin"},
      {"cuMemsetD8Async", 700,
       "function 'prefill': cannot fill its workspace: got CUDA error 700 (a fault made for a "
       "test)"},
      {"cuLaunchKernel", 700,
       "cannot launch kernel 'prefill_k0' on 132 CTAs of 384 threads: got CUDA error 700 (a fault "
       "made for a test)"},
  };
  for (const Row &row : rows) {
    load(cudaPlan());
    reset(row.function, row.code);
    PrefillCase arguments;
    EXPECT_EQ(launch(arguments), row.says);
    fakeFail("", 0);
    EXPECT_EQ(launch(arguments), "") << "after " << row.function;
  }
}

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

TEST_F(CudaLaunch, ALaunchCostsTheHostLittle) {
  PrefillCase arguments;
  ASSERT_EQ(launch(arguments), "");
  fakeRecord(false);
  std::vector<const DLTensor *> args = arguments.args();
  constexpr int kLaunches = 2000;
  double best = 1e9; // of several rounds: other processes take time too
  for (int round = 0; round < 10; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i)
      ASSERT_TRUE(function_->launch(args, nullptr, 0, reinterpret_cast<void *>(55)));
    std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kLaunches);
  }
  RecordProperty("microseconds_a_launch", std::to_string(best));
  std::printf("a launch costs the host %.2f us, the driver's own time not counted\n", best);
#if defined(NDEBUG) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_LT(best, 5.0);
#endif
}
