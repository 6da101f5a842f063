//===- ArtifactTest.cpp - the format --------------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactFixture.h"

#include <gtest/gtest.h>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
std::string messageOf(const auto &result) { return result ? "" : result.error().message(); }

/// What verify() says about the test plan after `change` has been made to gather.
std::string verdict(void (*change)(FunctionPlan &gather)) {
  Plan plan = testPlan();
  change(plan.functions[0]);
  CodeSection section{"elf-shared", testCode()};
  EXPECT_FALSE(serialize(plan, {&section, 1})) << "the writer applies the same rules";
  return messageOf(verify(plan));
}

/// An artifact around any plan text, sealed as a writer would.
std::string sealed(std::string_view plan) {
  std::string bytes = "PAGEFOLD";
  for (uint32_t word : {kArtifactVersion, static_cast<uint32_t>(plan.size())})
    bytes.append(reinterpret_cast<const char *>(&word), sizeof(word));
  bytes += plan;
  bytes.resize((bytes.size() + 63) / 64 * 64);
  uint64_t sum = checksum(bytes);
  bytes.append(reinterpret_cast<const char *>(&sum), sizeof(sum));
  return bytes;
}
} // namespace

TEST(Artifact, ParseGivesWhatWasSerialized) {
  Plan plan = testPlan();
  plan.functions[0].args[1].shape[1] = Extent::any();
  plan.functions[0].args[2].shape[0] = Extent::symbolic("batch", 1);
  plan.functions[0].graph = "graph";
  CodeSection sections[] = {{"elf-shared", testCode()}, {"note", "odd"}, {"empty", ""}};
  Result<std::string> bytes = serialize(plan, sections);
  ASSERT_TRUE(bytes) << messageOf(bytes);
  Result<Artifact> artifact = parse(*bytes);
  ASSERT_TRUE(artifact) << messageOf(artifact);
  EXPECT_EQ(artifact->plan, plan);
  ASSERT_EQ(artifact->code.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(artifact->code[i], sections[i]) << sections[i].kind;
  EXPECT_EQ(*serialize(plan, sections), *bytes) << "equal inputs give equal bytes";
}

TEST(Artifact, BytesAreAsDocumented) {
  std::string bytes = testArtifact();
  EXPECT_EQ(bytes.substr(0, 8), "PAGEFOLD");
  EXPECT_EQ(bytes.substr(8, 4), std::string("\1\0\0\0", 4));
  EXPECT_EQ(bytes[16], '{');
  uint32_t planSize;
  std::memcpy(&planSize, bytes.data() + 12, 4);
  size_t base = (16 + planSize + 63) / 64 * 64;
  EXPECT_EQ(bytes.substr(base, 4), "\177ELF");
  // FNV-1a of the empty string and of "a", as published.
  EXPECT_EQ(checksum(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(checksum("a"), 0xaf63dc4c8601ec8cull);
}

TEST(Artifact, WrongFilesAreToldApart) {
  std::string bytes = testArtifact();
  EXPECT_EQ(messageOf(parse("")), "cannot load the artifact: expects at least 24 bytes, got 0");
  EXPECT_EQ(messageOf(parse(testCode())), "cannot load the artifact: expects the bytes to begin "
                                          "with 'PAGEFOLD'; give what the compiler wrote");
  std::string newer = bytes;
  newer[8] = 2;
  EXPECT_EQ(messageOf(parse(newer)), "cannot load the artifact: expects format version 1, got 2; "
                                     "compile it with the compiler of this runtime");
  EXPECT_EQ(
      messageOf(parse(std::string_view(bytes).substr(0, 1000))),
      "cannot load the artifact: its checksum expects other bytes than these 1000; it was cut "
      "or changed after it was written, copy or compile it again");
}

TEST(Artifact, PlansThatAreNotPlans) {
  auto said = [](std::string_view plan) { return messageOf(parse(sealed(plan))); };
  const std::string cannot = "cannot load the artifact: ";
  EXPECT_EQ(said("{"), cannot + "its plan expects JSON, got something else");
  EXPECT_EQ(said("[]"), cannot + "the plan's 'version' expects an object around it, got array");
  EXPECT_EQ(said("{}"), cannot + "the plan's 'version' expects a value, got nothing");
  EXPECT_EQ(said(R"({"version":1.5})"),
            cannot + "the plan's 'version' expects an integer of 64 bits, got number");
  EXPECT_EQ(said(R"({"version":18446744073709551615})"),
            cannot + "the plan's 'version' expects an integer of 64 bits, got number");
  EXPECT_EQ(said(R"({"version":1,"compiler":[]})"),
            cannot + "the plan's 'compiler' expects a string, got array");
  EXPECT_EQ(said(std::string(100000, '[')), cannot + "its plan expects JSON, got something else");
  EXPECT_NE(said(std::string(100000, '[') + std::string(100000, ']')), "");
}

TEST(Artifact, CodeOutsideTheFileIsRefused) {
  std::string text =
      R"({"version":1,"compiler":"c","target":{"kind":"host","triple":"t","cpu":"c",)"
      R"("features":[]},"code":[{"kind":"elf-shared","offset":OFFSET,"size":SIZE}],)"
      R"("functions":[{"name":"f","bounds":{},"args":[],"workspace":{"size":32,)"
      R"("init":[]},"scratch":0,"error_word":0,"counters":null,)"
      R"("kernels":[{"symbol":"k","workers":"one"}]}]})";
  auto with = [&](std::string offset, std::string size) {
    std::string plan = text;
    plan.replace(plan.find("OFFSET"), 6, offset);
    plan.replace(plan.find("SIZE"), 4, size);
    return messageOf(parse(sealed(plan)));
  };
  EXPECT_EQ(with("0", "0"), "");
  EXPECT_NE(with("0", "1").find("within 0 bytes of code"), std::string::npos) << with("0", "1");
  EXPECT_NE(with("9223372036854775807", "9223372036854775807"), "");
  EXPECT_NE(with("-1", "0").find("an offset and a size of at least 0"), std::string::npos);
}

TEST(Artifact, RulesOfAPlan) {
  EXPECT_EQ(
      verdict([](FunctionPlan &f) { f.errorWord = kGatherWorkspace - 24; }),
      "function 'gather': expects the error word's 32 bytes at a multiple of 8 in a workspace "
      "of 2240 bytes, got offset 2216");
  EXPECT_EQ(
      verdict([](FunctionPlan &f) { f.counters = 4; }),
      "function 'gather': expects the counters' 64 bytes at a multiple of 8 in a workspace of "
      "2240 bytes, got offset 4");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.workspaceInit = {{2240, 1, 0}}; }),
            "function 'gather': expects initial bytes inside the workspace of 2240 bytes, got "
            "[2240, + 1)");
  EXPECT_EQ(verdict([](FunctionPlan &f) { std::swap(f.args[3], f.args[4]); }),
            "function 'gather': expects results after all inputs, got 'bias' after one");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.args[1].name = f.args[0].name; }),
            "function 'gather': expects distinct, non-empty argument names, got 'cache.values'");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.args[1].scalar = true; }),
            "function 'gather': scalar 'cache.table' expects rank 0 and access read");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.args[1].shape.assign(17, Extent::any()); }),
            "function 'gather': argument 'cache.table' expects a rank of at most 16, got 17");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.args[1].shape[0] = Extent::fixed(-1); }),
            "function 'gather': argument 'cache.table' expects extents in [0, 2^46], got -1");
  EXPECT_EQ(
      verdict([](FunctionPlan &f) { f.args[1].shape[0] = Extent::symbolic("a+b"); }),
      "function 'gather': argument 'cache.table' expects a symbol such as 'batch', got 'a+b'");
  for (int64_t align : {0, 24, 512}) {
    Plan plan = testPlan();
    plan.functions[0].args[1].align = align;
    EXPECT_EQ(messageOf(verify(plan)), "function 'gather': argument 'cache.table' expects to be "
                                       "aligned to a power of two up to 256 bytes, got " +
                                           std::to_string(align));
  }
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.scratchSize = -1; }),
            "function 'gather': expects workspace and scratch in [0, 2^46] bytes, got 2240 and -1");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.kernels.clear(); }),
            "function 'gather': expects at least one kernel");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.kernels[0].symbol = "a b"; }),
            "function 'gather': expects a C symbol for each kernel, got 'a b'");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.graph = "words"; }),
            "function 'gather': expects a graph that no function is named as, got 'words'");
  EXPECT_EQ(verdict([](FunctionPlan &f) { f.name = "words"; }),
            "function 'words': expects distinct function names, got this one twice");
}

TEST(Artifact, NamesThatAreNotTextStillPrint) {
  Plan plan = testPlan();
  plan.functions[0].name = "\xff\xfe";
  EXPECT_NE(describe(plan, plan.functions[0]).find("\"name\":\"\xef\xbf\xbd"), std::string::npos);
}
