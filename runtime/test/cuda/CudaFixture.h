//===- CudaFixture.h - an artifact for a GPU and its arguments --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_CUDA_CUDAFIXTURE_H
#define PAGEFOLD_RUNTIME_TEST_CUDA_CUDAFIXTURE_H

#include "FakeDriver.h"
#include "pagefold/runtime/Cuda.h"
#include "pagefold/runtime/Module.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace pagefold::runtime::test {

inline ParameterPlan parameter(ParameterPlan::Kind kind, int64_t arg = 0, int64_t dim = 0,
                               int64_t add = 0, int64_t offset = 0) {
  ParameterPlan plan;
  plan.kind = kind;
  plan.arg = arg;
  plan.dim = dim;
  plan.add = add;
  plan.offset = offset;
  return plan;
}

/// A map of a [tokens, 8, 128] argument as (64, tokens, 2 panels, heads).
inline ParameterPlan rowsMap(int64_t arg) {
  ParameterPlan plan = parameter(ParameterPlan::Kind::Map, arg);
  plan.box = {64, 128, 2, 1};
  plan.dims = {{64, {}, {}, {}}, {{}, 0, {}, 0}, {2, {}, 128, {}}, {{}, 1, {}, 1}};
  return plan;
}

inline constexpr int64_t kCudaWorkspace = 512;

inline ParameterPlan constant(int64_t bits) {
  ParameterPlan plan = parameter(ParameterPlan::Kind::Constant);
  plan.bits = bits;
  return plan;
}

/// A function of two kernels that have every kind of parameter but those of pages.
inline Plan cudaPlan() {
  using E = Extent;
  using Kind = ParameterPlan::Kind;
  FunctionPlan prefill;
  prefill.name = "prefill";
  prefill.bounds = {{"batch", 4}, {"tokens", 4096}};
  prefill.args = {
      {"q", DType::BF16, {E::symbolic("tokens"), E::fixed(8), E::fixed(128)}},
      {"rows", DType::I32, {E::symbolic("batch", 1)}},
      {"scale", DType::F32, {}, Access::Read, true},
      {"out0", DType::BF16, {E::symbolic("tokens"), E::fixed(8), E::fixed(128)}, Access::Write},
  };
  prefill.workspaceSize = kCudaWorkspace;
  prefill.workspaceInit = {{0, 256, 0}, {256, 64, 0xff}};
  prefill.kernels.resize(2);
  KernelPlan &space = prefill.kernels[0], &rows = prefill.kernels[1];
  space.symbol = "prefill_k0";
  space.cuda = {384,
                196720,
                0,
                1,
                {rowsMap(0), rowsMap(3), parameter(Kind::Pointer, 1),
                 parameter(Kind::Extent, 1, 0, -1), parameter(Kind::Stride, 0, 0),
                 parameter(Kind::Scalar, 2), parameter(Kind::Workspace, 0, 0, 0, 128),
                 parameter(Kind::ErrorWord), constant(0xfffffffe)}};
  rows.symbol = "prefill_k1";
  rows.cuda = {256, 0, 2, 0, {parameter(Kind::Frame)}};

  Plan plan;
  plan.compiler = "test";
  plan.target = {"cuda", "nvptx64-nvidia-cuda", "sm_90a", {}};
  plan.functions = {prefill};
  return plan;
}

inline std::string cudaArtifact(const Plan &plan = cudaPlan()) {
  CodeSection section{"ptx", ".version 8.6"};
  Result<std::string> bytes = serialize(plan, {&section, 1});
  return bytes ? *bytes : "cannot serialize: " + bytes.error().message();
}

/// A value in the bytes of a parameter.
template <typename T> T read(const std::string &bytes, size_t at = 0) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// A tensor of addresses: no kernel of the fake driver touches what it points to.
struct DeviceTensor {
  std::vector<int64_t> shape;
  DLDataType dtype;
  uintptr_t address;
  std::vector<int64_t> strides;
  DLDevice device = {kDLCUDA, 0};
  uint64_t byteOffset = 0;
  DLTensor view{};

  DLTensor *dl() {
    view = {reinterpret_cast<void *>(address),
            device,
            static_cast<int>(shape.size()),
            dtype,
            shape.data(),
            strides.empty() ? nullptr : strides.data(),
            byteOffset};
    return &view;
  }
};

/// Arguments of prefill.
struct PrefillCase {
  explicit PrefillCase(int64_t tokens = 300, int32_t device = 0) {
    q = {{tokens, 8, 128}, {kDLBfloat, 16, 1}, 0x10000000, {}};
    rows = {{3}, {kDLInt, 32, 1}, 0x20000000, {}};
    scale = {{}, {kDLFloat, 32, 1}, reinterpret_cast<uintptr_t>(&scaleValue), {}};
    out = {{tokens, 8, 128}, {kDLBfloat, 16, 1}, 0x30000000, {}};
    for (DeviceTensor *tensor : {&q, &rows, &out})
      tensor->device.device_id = device;
    scale.device = {kDLCPU, 0};
  }
  PrefillCase(const PrefillCase &) = delete;
  std::vector<const DLTensor *> args() { return {q.dl(), rows.dl(), scale.dl(), out.dl()}; }

  float scaleValue = 0.125f;
  DeviceTensor q, rows, scale, out;
};

/// Launches through the fake driver, which the runtime opens by the environment variable.
class CudaLaunch : public ::testing::Test {
protected:
  void SetUp() override {
    setenv("PAGEFOLD_CUDA_DRIVER", PAGEFOLD_FAKE_DRIVER, 1);
    reset("", 0);
    load(cudaPlan());
  }

  /// As fakeReset, with the parameters of the plan's kernels.
  static void reset(const char *function, int code) {
    fakeReset(function, code);
    const size_t space[] = {128, 128, 8, 4, 8, 4, 8, 8, 4}, frame[] = {8 * (9 + 5 + 1 + 9 + 5)};
    fakeKernel("prefill_k0", space, std::size(space));
    fakeKernel("prefill_k1", frame, 1);
  }

  void load(const Plan &plan) {
    module_.reset();
    Result<std::unique_ptr<Module>> module = Module::load(cudaArtifact(plan));
    ASSERT_TRUE(module) << module.error().message();
    module_ = std::move(*module);
    function_ = *module_->function("");
  }

  std::string launch(PrefillCase &arguments, void *workspace = nullptr, size_t size = 0,
                     uintptr_t stream = 55) {
    std::vector<const DLTensor *> args = arguments.args();
    Status status = function_->launch(args, workspace, size, reinterpret_cast<void *>(stream));
    return status ? "" : status.error().message();
  }

  std::unique_ptr<Module> module_;
  const Function *function_ = nullptr;
};

} // namespace pagefold::runtime::test

#endif // PAGEFOLD_RUNTIME_TEST_CUDA_CUDAFIXTURE_H
