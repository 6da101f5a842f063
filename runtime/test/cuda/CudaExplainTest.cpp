//===- CudaExplainTest.cpp - explanations of launches on a GPU ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <algorithm>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {

/// The fixture's function, whose first kernel attends over its own rows, without a mask.
Plan explainedPlan() {
  Plan plan = cudaPlan();
  plan.target.machine = {"H200", 132, 4'660'000'000'000, 797'000'000'000'000, 66'900'000'000'000,
                         2'900};
  KernelAbout &about = plan.functions[0].kernels[0].about.emplace();
  about.op = "tile.space";
  about.form = "pipelined";
  about.registers = {160, 0};
  SpacePlan &space = about.space.emplace();
  space.kvHeads = 8;
  space.kDim = space.vDim = 128;
  space.qTile = space.kvTile = space.rowUnit = 128;
  space.kvRowBytes = 512;
  space.queryRowBytes = space.outputRowBytes = 256;
  space.rowsArg = space.keyRowsArg = 1;
  space.tensorCores = true;
  return plan;
}

class CudaExplain : public CudaLaunch {
protected:
  void SetUp() override {
    CudaLaunch::SetUp();
    load(explainedPlan());
    arguments.rows.address =
        reinterpret_cast<uintptr_t>(rows); // device memory is the process's own
  }

  std::string explain(const std::vector<const DLTensor *> &args) {
    Result<std::string> text = function_->explain(true, args, 0, ExplainFormat::Text);
    return text ? *text : text.error().message();
  }

  int32_t rows[3] = {0, 128, 300};
  PrefillCase arguments;
};

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST_F(CudaExplain, TheCompileAsksNoDriver) {
  Result<std::string> text = function_->explain(false, {}, 0, ExplainFormat::Text);
  ASSERT_TRUE(text);
  EXPECT_TRUE(contains(*text, "prefill_k0: tile.space, pipelined, q_tile 128")) << *text;
  EXPECT_TRUE(contains(*text, "1 CTAs a multiprocessor, 160 registers (ptxas)")) << *text;
  EXPECT_TRUE(fakeCalls()->empty());
}

TEST_F(CudaExplain, ALaunchReadsOffsetsAndTheDriversRegisters) {
  const std::string text = explain(arguments.args());
  EXPECT_TRUE(contains(text, "1 CTAs a multiprocessor, 168 registers (driver)")) << text;
  EXPECT_TRUE(contains(text, "2 CTAs, 160 registers (driver)")) << text;
  // 128 rows: 1 x 1 tiles; 172: 2 x 2. 8 heads.
  EXPECT_TRUE(contains(text, "0 tiles full, 40 partial, 0 skipped")) << text;
  EXPECT_EQ(std::count(fakeCalls()->begin(), fakeCalls()->end(), "cuMemcpyDtoH_v2(12)"), 2);
  EXPECT_TRUE(fakeLaunches()->empty());
}

TEST_F(CudaExplain, TensorsOfTheHostAskNoDriver) {
  for (DeviceTensor *tensor : {&arguments.q, &arguments.rows, &arguments.out})
    tensor->device = {kDLCPU, 0};
  std::vector<const DLTensor *> args = arguments.args();
  args.pop_back(); // results are not needed
  const std::string text = explain(args);
  EXPECT_TRUE(contains(text, "40 partial")) << text;
  EXPECT_TRUE(contains(text, "160 registers (ptxas)")) << text;
  EXPECT_TRUE(fakeCalls()->empty());
}

TEST_F(CudaExplain, WhatTheDriverRefusesIsTold) {
  fakeFail("cuFuncGetAttribute", 1);
  EXPECT_EQ(explain(arguments.args()),
            "cannot ask for the registers of 'prefill_k0': got CUDA error "
            "1 (a fault made for a test)");
}

TEST_F(CudaExplain, TheDevicesMultiprocessorsCount) {
  fakeAttribute(0, 16, 4);
  EXPECT_TRUE(contains(explain(arguments.args()), "on 100 % of the chip"))
      << "24 items of 4 multiprocessors";
}
