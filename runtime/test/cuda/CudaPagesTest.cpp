//===- CudaPagesTest.cpp - maps and steps of pages, by the fake driver ----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
using Kind = ParameterPlan::Kind;
using Step = ParameterPlan::Step;

constexpr int64_t kPage = 16, kHeads = 4, kDim = 128, kPanels = kDim / 64;

ParameterPlan pageMap(int64_t arg) {
  ParameterPlan plan = parameter(Kind::PageMap, arg);
  plan.panels = kPanels;
  plan.boxRows = 16;
  return plan;
}

ParameterPlan pageStep(int64_t arg, Step of) {
  ParameterPlan plan = parameter(Kind::PageStep, arg);
  plan.panels = kPanels;
  plan.of = of;
  return plan;
}

/// A function of one kernel: of k and v each a map and its steps.
Plan pagesPlan(int64_t heads = kHeads) {
  using E = Extent;
  const std::vector<Extent> shape = {E::symbolic("cache.pages"), E::fixed(kPage), E::fixed(heads),
                                     E::fixed(kDim)};
  FunctionPlan decode;
  decode.name = "decode";
  decode.args = {{"k_pages", DType::BF16, shape, Access::ReadWrite},
                 {"v_pages", DType::BF16, shape, Access::ReadWrite}};
  decode.workspaceSize = 64;
  KernelPlan &kernel = decode.kernels.emplace_back();
  kernel.symbol = "decode_k0";
  kernel.cuda = {128, 0, 0, 1, {}};
  for (int64_t arg : {0, 1})
    for (const ParameterPlan &plan : {pageMap(arg), pageStep(arg, Step::HeadPanel),
                                      pageStep(arg, Step::Page), pageStep(arg, Step::HeadPage)})
      kernel.cuda->params.push_back(plan);
  Plan plan;
  plan.compiler = "test";
  plan.target = {"cuda", "nvptx64-nvidia-cuda", "sm_90a", {}};
  plan.functions = {decode};
  return plan;
}

/// Strides of [pages, page, heads, dim] in elements.
using Strides = std::array<int64_t, 4>;
constexpr int64_t kSlotSize = kHeads * kDim, kHeadSize = kPage * kDim;
constexpr int64_t kPageSize = kPage * kSlotSize;
constexpr Strides kNhd = {kPageSize, kSlotSize, kDim, 1}, kHnd = {kPageSize, kDim, kHeadSize, 1};

/// A map as the driver was asked to encode it.
struct SeenMap {
  std::array<int64_t, 5> extents, box;
  std::array<int64_t, 4> strides;
};

class CudaPages : public CudaLaunch {
protected:
  void SetUp() override {
    CudaLaunch::SetUp();
    const size_t sizes[] = {128, 4, 4, 4, 128, 4, 4, 4};
    fakeKernel("decode_k0", sizes, std::size(sizes));
    load(pagesPlan());
  }

  std::string launch(int64_t pages, const Strides &k, const Strides &v, int64_t heads = kHeads) {
    shape_ = {pages, kPage, heads, kDim};
    k_ = {shape_, {kDLBfloat, 16, 1}, 0x10000000, {k.begin(), k.end()}};
    v_ = {shape_, {kDLBfloat, 16, 1}, vAddress_, {v.begin(), v.end()}};
    const DLTensor *args[] = {k_.dl(), v_.dl()};
    Status status = function_->launch(args, nullptr, 0, nullptr);
    return status ? "" : status.error().message();
  }

  /// The last map that was encoded for this address.
  static SeenMap encoded(uintptr_t address) {
    const std::string beginning = "cuTensorMapEncodeTiled(9, 5, " + std::to_string(address) + ", ";
    SeenMap map{};
    for (std::string call : *fakeCalls()) {
      if (!call.starts_with(beginning))
        continue;
      std::replace_if(call.begin(), call.end(), [](char c) { return !isdigit(c); }, ' ');
      std::istringstream numbers(call.substr(beginning.size()));
      for (int64_t &extent : map.extents)
        numbers >> extent;
      for (int64_t &stride : map.strides)
        numbers >> stride;
      for (int64_t &extent : map.box)
        numbers >> extent;
    }
    return map;
  }

  static int32_t stepOf(size_t arg, Step step) {
    return read<int32_t>(
        fakeLaunches()->back().parameters[4 * arg + 1 + static_cast<size_t>(step)]);
  }

  static std::array<int32_t, 3> stepsOf(size_t arg) {
    return {stepOf(arg, Step::HeadPanel), stepOf(arg, Step::Page), stepOf(arg, Step::HeadPage)};
  }

  /// By a kernel's coordinates the map gives every element of an argument of the last launch its
  /// own address.
  void expectAllElements(size_t arg) const {
    const DeviceTensor &tensor = arg ? v_ : k_;
    const SeenMap map = encoded(tensor.address);
    EXPECT_EQ(map.box, (std::array<int64_t, 5>{64, 8, kPanels, 2, 1}));
    for (int64_t page = 0; page < tensor.shape[0]; ++page)
      for (int64_t slot = 0; slot < kPage; ++slot)
        for (int64_t head = 0; head < tensor.shape[2]; ++head)
          for (int64_t x = 0; x < kDim; ++x) {
            const int64_t coordinates[] = {
                x % 64, slot % 8, head * stepOf(arg, Step::HeadPanel) + x / 64, slot / 8,
                page * stepOf(arg, Step::Page) + head * stepOf(arg, Step::HeadPage)};
            int64_t found = 2 * coordinates[0];
            for (size_t i = 0; i < 5; ++i) {
              ASSERT_LT(coordinates[i], map.extents[i]) << "of dimension " << i;
              found += i ? coordinates[i] * map.strides[i - 1] : 0;
            }
            ASSERT_EQ(found, 2 * (page * tensor.strides[0] + slot * tensor.strides[1] +
                                  head * tensor.strides[2] + x))
                << "page " << page << ", slot " << slot << ", head " << head << ", element " << x;
          }
  }

  std::vector<int64_t> shape_;
  DeviceTensor k_, v_;
  uintptr_t vAddress_ = 0x20000000;
};

size_t encodings() {
  return static_cast<size_t>(
      std::count_if(fakeCalls()->begin(), fakeCalls()->end(),
                    [](const std::string &call) { return call.starts_with("cuTensorMap"); }));
}
} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

TEST_F(CudaPages, HeadsNextToEachOtherArePanelsOfASlot) {
  ASSERT_EQ(launch(5, kNhd, kNhd), "");
  const SeenMap map = encoded(k_.address);
  EXPECT_EQ(map.extents, (std::array<int64_t, 5>{64, 8, 8, 2, 5}));
  EXPECT_EQ(map.strides, (std::array<int64_t, 4>{1024, 128, 8192, 16384}));
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{2, 1, 0}));
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, HeadsAfterOneAnotherAreCountedThroughThePages) {
  ASSERT_EQ(launch(5, kHnd, kHnd), "");
  const SeenMap map = encoded(k_.address);
  EXPECT_EQ(map.extents, (std::array<int64_t, 5>{64, 8, 2, 2, 20}));
  EXPECT_EQ(map.strides, (std::array<int64_t, 4>{256, 128, 2048, 4096}));
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{0, 4, 1}));
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, KeysAndValuesMayLieInOneAllocationPageByPage) {
  Strides strides = kNhd; // of [pages, 2, page, heads, dim]
  strides[0] *= 2;
  vAddress_ = 0x10000000 + 2 * kPageSize;
  ASSERT_EQ(launch(5, strides, strides), "");
  EXPECT_EQ(encoded(k_.address).extents, (std::array<int64_t, 5>{64, 8, 8, 2, 5}));
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{2, 1, 0}));
  expectAllElements(0);
  expectAllElements(1);

  strides = kHnd; // of [pages, 2, heads, page, dim]
  strides[0] *= 2;
  ASSERT_EQ(launch(5, strides, strides), "");
  EXPECT_EQ(encoded(k_.address).extents, (std::array<int64_t, 5>{64, 8, 2, 2, 36}))
      << "the last page's values are not of it";
  EXPECT_EQ(stepsOf(1), (std::array<int32_t, 3>{0, 8, 1}));
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, EachArgumentHasItsOwnLayout) {
  ASSERT_EQ(launch(3, kNhd, kHnd), "");
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{2, 1, 0}));
  EXPECT_EQ(stepsOf(1), (std::array<int32_t, 3>{0, 4, 1}));
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, ThePlaceOfTheNextPageOfOneNeverMatters) {
  Strides nhd = kNhd, hnd = kHnd;
  nhd[0] = hnd[0] = -3;
  ASSERT_EQ(launch(1, nhd, hnd), "");
  EXPECT_EQ(encoded(k_.address).strides, (std::array<int64_t, 4>{1024, 128, 8192, 16}));
  EXPECT_EQ(encoded(v_.address).extents, (std::array<int64_t, 5>{64, 8, 2, 2, 4}));
  EXPECT_EQ(stepsOf(1), (std::array<int32_t, 3>{0, 4, 1})) << "page 1 is outside of the map";
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, ThePlaceOfTheNextHeadOfOneNeverMatters) {
  load(pagesPlan(/*heads=*/1));
  ASSERT_EQ(launch(5, {kHeadSize, kDim, 3, 1}, {kHeadSize, kDim, kHeadSize, 1}, 1), "");
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{2, 1, 0}));
  expectAllElements(0);
  expectAllElements(1);
}

TEST_F(CudaPages, WithoutPagesTheMapTouchesNothing) {
  ASSERT_EQ(launch(0, {3, 3, 3, 3}, kNhd), "");
  const auto place = read<uint64_t>(fakeLaunches()->back().parameters[0]);
  EXPECT_NE(place, k_.address);
  EXPECT_EQ(encoded(place).extents, (std::array<int64_t, 5>{1, 1, 1, 1, 1}));
  EXPECT_EQ(stepsOf(0), (std::array<int32_t, 3>{0, 0, 0}));
}

TEST_F(CudaPages, MapsAreEncodedAgainWhereTheLayoutChanges) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(launch(5, kNhd, kNhd), "");
    ASSERT_EQ(launch(5, kHnd, kNhd), "");
  }
  EXPECT_EQ(encodings(), 3u);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(CudaPages, OtherLayoutsAreRefused) {
  Strides strides = kHnd;
  strides[0] += 64; // a page's end is no place of a head
  const std::string says =
      ": expects heads next to each other in a page (128 elements apart) or pages a whole number "
      "of heads apart, got heads 2048 and pages 8256 elements apart; lay pages out as [pages, "
      "page, heads, dim] (nhd) or [pages, heads, page, dim] (hnd)";
  EXPECT_EQ(launch(5, strides, kNhd), "function 'decode', argument 0 'k_pages'" + says);
  EXPECT_EQ(launch(5, kNhd, strides), "function 'decode', argument 1 'v_pages'" + says);
  EXPECT_EQ(launch(1, strides, strides), "") << "one page has no next one";
  fakeLaunches()->clear();

  Plan plan = pagesPlan();
  std::vector<ParameterPlan> &params = plan.functions[0].kernels[0].cuda->params;
  params.erase(params.begin());
  load(plan);
  EXPECT_EQ(launch(5, strides, kNhd), "function 'decode', argument 0 'k_pages'" + says)
      << "a step says so too";

  load(pagesPlan());
  strides = kHnd;
  strides[2] = -strides[2];
  EXPECT_NE(launch(5, strides, kNhd).find("got heads -2048 and pages 8192"), std::string::npos);
  strides = kHnd;
  strides[0] = -strides[0];
  EXPECT_NE(launch(5, strides, kNhd).find("got heads 2048 and pages -8192"), std::string::npos);
  EXPECT_TRUE(fakeLaunches()->empty());
}

TEST_F(CudaPages, WhatTheChipCannotAddressIsRefused) {
  Strides odd = kNhd;
  odd[1] += 4;
  EXPECT_EQ(launch(5, odd, kNhd),
            "function 'decode', argument 0 'k_pages': a tensor map expects strides below 2^40 that "
            "are multiples of 16 bytes, got 1032; make the tensor contiguous");
  Strides far = kHnd;
  far[0] *= 2;
  EXPECT_EQ(launch(int64_t(1) << 30, kNhd, far),
            "function 'decode', argument 1 'v_pages': expects pages (heads of pages, where a page "
            "holds head after head) below 2^31 on a GPU, got 8589934588; use fewer or larger "
            "pages");
  EXPECT_TRUE(fakeLaunches()->empty());
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

TEST_F(CudaPages, ParseGivesWhatWasSerialized) {
  Plan plan = pagesPlan();
  std::string bytes = cudaArtifact(plan);
  Result<Artifact> artifact = parse(bytes);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_EQ(artifact->plan, plan);
  EXPECT_NE(bytes.find(R"([{"kind":"page_map","arg":0,"element":"bf16","panels":2,"box_rows":16},)"
                       R"({"kind":"page_step","arg":0,"panels":2,"of":"head_panel"},)"
                       R"({"kind":"page_step","arg":0,"panels":2,"of":"page"},)"
                       R"({"kind":"page_step","arg":0,"panels":2,"of":"head_page"},)"),
            std::string::npos)
      << bytes;
}

namespace {
/// What verify() says of a kernel with one of the plan's parameters after `change`, less the
/// beginning that all sentences have.
std::string verdict(size_t parameter, void (*change)(FunctionPlan &decode, ParameterPlan &plan)) {
  Plan plan = pagesPlan();
  FunctionPlan &decode = plan.functions[0];
  std::vector<ParameterPlan> &params = decode.kernels[0].cuda->params;
  params = {params[parameter]};
  change(decode, params[0]);
  Status status = verify(plan);
  const std::string beginning = "function 'decode': kernel 'decode_k0', parameter 0: expects ",
                    text = status ? "" : status.error().message();
  return text.starts_with(beginning) ? text.substr(beginning.size()) : "not of it: " + text;
}
} // namespace

TEST_F(CudaPages, RulesOfPages) {
  for (size_t i : {0, 1}) {
    EXPECT_EQ(verdict(i, [](FunctionPlan &f, ParameterPlan &) { f.args[0].shape.pop_back(); }),
              "an argument [pages, page, heads, dim] with fixed extents after the first, got "
              "'k_pages'");
    EXPECT_EQ(
        verdict(i, [](FunctionPlan &f, ParameterPlan &) { f.args[0].shape[2] = Extent::any(); }),
        "an argument [pages, page, heads, dim] with fixed extents after the first, got 'k_pages'");
    EXPECT_EQ(verdict(i, [](FunctionPlan &f, ParameterPlan &) { f.args[0].dtype = DType::F32; }),
              "pages of bf16 or f16, got f32");
    EXPECT_EQ(verdict(i, [](FunctionPlan &f,
                            ParameterPlan &) { f.args[0].shape[1] = Extent::fixed(20); }),
              "pages of a multiple of 8 slots, got 20");
    EXPECT_EQ(verdict(i, [](FunctionPlan &, ParameterPlan &p) { p.panels = 1; }),
              "1 to 256 panels of 64 elements for a dim of 128, got 1");
    EXPECT_EQ(verdict(i, [](FunctionPlan &f,
                            ParameterPlan &) { f.args[0].shape[3] = Extent::fixed(96); }),
              "1 to 256 panels of 64 elements for a dim of 96, got 2");
  }
  EXPECT_EQ(verdict(0, [](FunctionPlan &, ParameterPlan &p) { p.element = DType::F16; }),
            "the elements of 'k_pages', bf16, got f16");
  Plan plan = pagesPlan();
  for (int64_t rows : {-8, 0, 12, 32, 512}) {
    plan.functions[0].kernels[0].cuda->params[0].boxRows = rows;
    Status status = verify(plan);
    ASSERT_FALSE(status) << rows;
    EXPECT_EQ(status.error().message(),
              "function 'decode': kernel 'decode_k0', parameter 0: expects box_rows up to 256, a "
              "multiple of 8 that divides a page of 16 slots, got " +
                  std::to_string(rows));
  }
}
