//===- HostTargetTest.cpp - code for another machine is refused -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"
#include "HostCode.h"

#include "ArtifactFixture.h"
#include "pagefold/runtime/Module.h"

#include <elf.h>
#include <gtest/gtest.h>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
std::string verdict(void (*change)(TargetPlan &)) {
  TargetPlan target = testPlan().target;
  change(target);
  Status status = checkHostTarget(target);
  return status ? "" : status.error().message();
}

std::string codeVerdict(std::string elf) {
  Result<HostCode> code = HostCode::load(elf);
  return code ? "" : code.error().message();
}
} // namespace

TEST(HostTarget, KindAndTripleAreChecked) {
  EXPECT_EQ(verdict([](TargetPlan &) {}), "");
  Plan plan = testPlan();
  plan.target.kind = "npu";
  Result<std::unique_ptr<Module>> module = Module::load(testArtifact(plan));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().message(),
            "cannot load the artifact: this runtime runs targets 'host' and 'cuda', got 'npu'; "
            "compile with one of them");
  EXPECT_NE(verdict([](TargetPlan &t) {
              t.triple = "riscv64-unknown-linux-gnu";
            }).find("got 'riscv64-unknown-linux-gnu'; compile it for this machine"),
            std::string::npos);
  EXPECT_NE(verdict([](TargetPlan &t) { t.triple = ""; }), "");
}

#if defined(__x86_64__)
TEST(HostTarget, A60_MissingFeaturesAreNamed) {
  EXPECT_EQ(verdict([](TargetPlan &t) {
              t.cpu = "later";
              t.features = {"sse4.2", "avx99", "+amx-dream", "-avx98", "sse2"};
            }),
            "cannot load the artifact: its code was made for 'later' and expects a CPU with avx99, "
            "amx-dream, which this one lacks; compile it for this machine");
}

TEST(HostTarget, FeaturesThatNoLoopUsesAreNotChecked) {
  EXPECT_EQ(verdict([](TargetPlan &t) { t.features = {"x87", "fsgsbase", "invpcid", "64bit"}; }),
            "");
}

TEST(HostTarget, CompilersNamesAreTheKernelsNames) {
  // Each pair: a feature by LLVM's name, and whether this CPU has it by the compiler's own test.
  struct Row {
    const char *name;
    int has;
  };
  const Row rows[] = {
      {"sse3", __builtin_cpu_supports("sse3")},
      {"sse4.1", __builtin_cpu_supports("sse4.1")},
      {"popcnt", __builtin_cpu_supports("popcnt")},
      {"avx2", __builtin_cpu_supports("avx2")},
      {"fma", __builtin_cpu_supports("fma")},
      {"bmi2", __builtin_cpu_supports("bmi2")},
      {"avx512f", __builtin_cpu_supports("avx512f")},
      {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512vbmi2", __builtin_cpu_supports("avx512vbmi2")},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16")},
      {"avx512vpopcntdq", __builtin_cpu_supports("avx512vpopcntdq")},
  };
  for (const Row &row : rows) {
    TargetPlan target = testPlan().target;
    target.features = {row.name};
    EXPECT_EQ(checkHostTarget(target).has_value(), row.has != 0) << row.name;
  }
}
#endif

TEST(HostCode, WhatIsNoSharedObjectIsRefused) {
  std::string code = testCode();
  EXPECT_EQ(codeVerdict(code), "");
  EXPECT_EQ(codeVerdict("short"), "the code expects an ELF shared object, got 5 bytes");
  EXPECT_EQ(codeVerdict(std::string(4096, 'x')),
            "the code expects a 64-bit ELF shared object, got other bytes");
  std::string other = code;
  other[18] = static_cast<char>(EM_RISCV % 256);
  other[19] = static_cast<char>(EM_RISCV / 256);
  EXPECT_NE(codeVerdict(other).find("got 243; compile it for this machine"), std::string::npos);
  EXPECT_NE(
      codeVerdict(code.substr(0, 700)).find("the code expects ELF segments inside its 700 bytes"),
      std::string::npos);
}

TEST(HostCode, KernelsThatAreNotThereAreNamed) {
  Plan plan = testPlan();
  plan.functions[0].kernels[1].symbol = "gather_k9";
  Result<std::unique_ptr<Module>> module = Module::load(testArtifact(plan));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().message(),
            "the code expects a kernel 'gather_k9' that the plan names, got none");
}
