//===- ArtifactFixture.h - an artifact and tensors for tests ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_TEST_CORE_ARTIFACTFIXTURE_H
#define PAGEFOLD_RUNTIME_TEST_CORE_ARTIFACTFIXTURE_H

#include "pagefold/runtime/Artifact.h"

#include <cstring>
#include <dlpack/dlpack.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>

namespace pagefold::runtime::test {

inline constexpr int64_t kGatherBatch = 64;
inline constexpr int64_t kGatherWorkspace = 192 + kGatherBatch * 8 * 4;

/// The plans of kernels.c.
inline Plan testPlan() {
  using E = Extent;
  FunctionPlan gather;
  gather.name = "gather";
  gather.bounds = {{"batch", kGatherBatch}};
  gather.args = {
      {"cache.values", DType::F32, {E::symbolic("cache.pages"), E::fixed(8)}},
      {"cache.table", DType::I32, {E::symbolic("batch"), E::symbolic("cache.width")}},
      {"cache.lens", DType::I32, {E::symbolic("batch")}, Access::Read, false, true},
      {"bias", DType::F32, {}, Access::Read, true},
      {"out0", DType::F32, {E::symbolic("batch"), E::fixed(8)}, Access::Write},
  };
  gather.workspaceSize = kGatherWorkspace;
  gather.workspaceInit = {{128, 64, 0xff}};
  gather.scratchSize = 1000;
  gather.errorWord = 0;
  gather.counters = 64;
  gather.kernels = {{"gather_k0", KernelPlan::Workers::All},
                    {"gather_k1", KernelPlan::Workers::One},
                    {"gather_k2", KernelPlan::Workers::All}};

  FunctionPlan words;
  words.name = "words";
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F64, DType::I8,
                      DType::U8, DType::I32, DType::I64, DType::Bool})
    words.args.push_back({std::string(dtypeName(dtype)), dtype, {}, Access::Read, true});
  words.args.push_back({"out0", DType::I64, {E::fixed(10)}, Access::Write});
  words.workspaceSize = 32;
  words.errorWord = 0;
  words.kernels = {{"words_k0", KernelPlan::Workers::One}};

  FunctionPlan wait;
  wait.name = "wait";
  wait.args = {{"flag", DType::I32, {}}, {"out0", DType::I32, {}, Access::Write}};
  wait.workspaceSize = 64;
  wait.errorWord = 0;
  wait.kernels = {{"wait_k0", KernelPlan::Workers::One}};

  Plan plan;
  plan.compiler = "test";
#if defined(__x86_64__)
  plan.target = {"host", "x86_64-unknown-linux-gnu", "x86-64", {"sse2", "fxsr", "x87"}};
#else
  plan.target = {"host", "aarch64-unknown-linux-gnu", "generic", {}};
#endif
  plan.functions = {gather, words, wait};
  return plan;
}

/// The shared object that CMake built from kernels.c.
inline const std::string &testCode() {
  static const std::string code = [] {
    std::ifstream file(PAGEFOLD_TEST_KERNELS, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return code;
}

inline std::string testArtifact(const Plan &plan = testPlan()) {
  CodeSection section{"elf-shared", testCode()};
  Result<std::string> bytes = serialize(plan, {&section, 1});
  return bytes ? *bytes : "cannot serialize: " + bytes.error().message();
}

/// A tensor that owns its data, row-major unless strides are set.
template <typename T> struct Tensor {
  explicit Tensor(std::vector<int64_t> extents, T fill = T()) : shape(std::move(extents)) {
    int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
    data.assign(static_cast<size_t>(count), fill);
  }
  /// Valid until this tensor changes.
  DLTensor *dl() {
    view.data = data.data();
    view.device = device;
    view.ndim = static_cast<int32_t>(shape.size());
    view.dtype = dtype;
    view.shape = shape.data();
    view.strides = strides.empty() ? nullptr : strides.data();
    view.byte_offset = byteOffset;
    return &view;
  }
  std::vector<T> data;
  std::vector<int64_t> shape, strides;
  uint64_t byteOffset = 0;
  DLDevice device = {kDLCPU, 0};
  DLDataType dtype = {std::is_floating_point_v<T> ? uint8_t(kDLFloat)
                      : std::is_signed_v<T>       ? uint8_t(kDLInt)
                                                  : uint8_t(kDLUInt),
                      8 * sizeof(T), 1};
  DLTensor view{};
};

/// Arguments of gather with a right answer.
struct GatherCase {
  explicit GatherCase(int64_t requests = 5, int64_t pages = 7, int64_t width = 3)
      : values({pages, 8}), table({requests, width}), lens({requests}), bias({}, 0.5f),
        out({requests, 8}, -1.0f) {
    for (size_t i = 0; i < values.data.size(); ++i)
      values.data[i] = static_cast<float>(i % 31);
    for (size_t i = 0; i < table.data.size(); ++i)
      table.data[i] = static_cast<int32_t>((3 * i + 1) % static_cast<size_t>(pages));
    for (size_t r = 0; r < lens.data.size(); ++r)
      lens.data[r] = static_cast<int32_t>(r % static_cast<size_t>(width + 1));
  }

  std::vector<const DLTensor *> args() {
    return {values.dl(), table.dl(), lens.dl(), bias.dl(), out.dl()};
  }

  /// What out should hold: small integers and halves, so float sums are exact in any order.
  std::vector<float> expected() const {
    size_t requests = lens.data.size(), width = static_cast<size_t>(table.shape[1]);
    std::vector<float> sums(requests * 8), result(requests * 8, bias.data[0]);
    for (size_t r = 0; r < requests; ++r)
      for (int32_t i = 0; i < lens.data[r]; ++i)
        for (size_t c = 0; c < 8; ++c)
          sums[r * 8 + c] +=
              values.data[static_cast<size_t>(table.data[r * width + static_cast<size_t>(i)]) * 8 +
                          c];
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] += sums[i];
      for (size_t r = 0; r < requests; ++r)
        result[i] += sums[r * 8 + i % 8];
    }
    return result;
  }

  Tensor<float> values;
  Tensor<int32_t> table, lens;
  Tensor<float> bias, out;
};

} // namespace pagefold::runtime::test

#endif // PAGEFOLD_RUNTIME_TEST_CORE_ARTIFACTFIXTURE_H
