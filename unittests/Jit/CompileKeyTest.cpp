//===- CompileKeyTest.cpp - which compiles share an artifact --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilerIdentity.h"
#include "JitFixture.h"
#include <gtest/gtest.h>
#include <regex>
#include <set>

using namespace pagefold;
using namespace pagefold::jit;
using namespace pagefold::jit::test;

static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

//===----------------------------------------------------------------------===//
// The same graph in other words
//===----------------------------------------------------------------------===//

TEST(CompileKey, StaysOverHowAGraphIsSpelled) {
  const std::string graph = decodeGraph();
  const std::string key = keyOf(graph).hex();
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(keyOf("// a comment moves every location\n\n" + graph).hex(), key);
  EXPECT_EQ(keyOf(replaced(graph, "%o", "%result")).hex(), key) << "names of values";
  EXPECT_EQ(keyOf(replaced(graph, "%s", "%score")).hex(), key) << "names of a region's arguments";
  EXPECT_EQ(keyOf(replaced(graph, "!cache", "!pages")).hex(), key) << "another alias";
  std::string inlined =
      replaced(graph, "!cache = !attn.paged_kv<2 heads, 64 x 64, f32, page 16>", "");
  EXPECT_EQ(
      keyOf(replaced(inlined, "!cache", "!attn.paged_kv<2 heads, 64 x 64, f32, page 16>")).hex(),
      key)
      << "no alias";
  EXPECT_EQ(keyOf(replaced(graph, "50.0", "5.0e1")).hex(), key) << "the same number";
  EXPECT_EQ(keyOf("#here = loc(\"a\":1:2)\n" +
                  replaced(graph, "attn.yield %y : f32", "attn.yield %y : f32 loc(#here)"))
                .hex(),
            key)
      << "locations";
  EXPECT_EQ(keyOf(toBytecode(graph)).hex(), key) << "bytecode";
}

TEST(CompileKey, NamesOfArgumentsArePartOfThePlan) {
  EXPECT_NE(keyOf(replaced(decodeGraph(), "%rows", "%offsets")).hex(), keyOf(decodeGraph()).hex());
}

TEST(CompileKey, A60_EveryChangeOfAGraphGivesAnotherKey) {
  const std::string graph = decodeGraph();
  const std::pair<const char *, const char *> changes[] = {{"50.0", "50.000004"},
                                                           {"minimumf", "maximumf"},
                                                           {"scale 0.125", "scale 0.25"},
                                                           {"<causal>", "<causal and window(256)>"},
                                                           {"page 16", "page 32"},
                                                           {"64 x 64", "64 x 32"},
                                                           {"f32", "bf16"},
                                                           {"batch 8", "batch 9"},
                                                           {"q_len 1", "q_len 2"},
                                                           {"kv_len 1024", "kv_len 1025"},
                                                           {"@decode", "@other"}};
  std::set<std::string> keys{keyOf(graph).hex()};
  for (auto [from, to] : changes) {
    std::string changed = replaced(graph, from, to);
    if (std::string(from) == "64 x 64") // the values', and with them the result's
      changed = replaced(changed, "-> tensor<?x8x64xf32>", "-> tensor<?x8x32xf32>");
    if (std::string(from) == "64 x 64")
      changed =
          replaced(changed, "return %o : tensor<?x8x64xf32>", "return %o : tensor<?x8x32xf32>");
    if (std::string(from) == "f32") // the score stays f32
      changed = std::regex_replace(graph, std::regex("(x64x|64, )f32"), "$1bf16");
    EXPECT_TRUE(keys.insert(keyOf(changed).hex()).second) << from << " -> " << to;
  }
}

TEST(CompileKey, A60_ResourcesCountByTheirContents) {
  auto graph = [](const char *bytes) {
    return replaced(decodeGraph(), "%o = ",
                    "%w = arith.constant dense_resource<weights> : tensor<2xf32>\n  %o = ") +
           "{-# dialect_resources: { builtin: { weights: \"" + bytes + "\" } } #-}\n";
  };
  std::string ones = "0x040000000000803F0000803F", twos = "0x040000000000004000000040";
  EXPECT_EQ(keyOf(graph(ones.c_str())).hex(), keyOf(graph(ones.c_str())).hex());
  EXPECT_NE(keyOf(graph(ones.c_str())).hex(), keyOf(graph(twos.c_str())).hex());
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
/// Another value than the default one, which options of some names restrict.
void change(CompileOptions &options, bool CompileOptions::*field) { options.*field ^= true; }
void change(CompileOptions &options, int64_t CompileOptions::*field) { options.*field += 32; }
void change(CompileOptions &options, std::string CompileOptions::*field) {
  std::string &value = options.*field;
  value = value == "host"   ? "cuda"
          : value == "ptx"  ? "cubin"
          : value == "auto" ? "always"
                            : "x86-64-v3";
}
} // namespace

TEST(CompileKey, A60_EveryOptionThatMakesCodeIsPartOfIt) {
  std::set<std::string> keys{keyOf(decodeGraph()).hex()};
  for (const OptionRow &row : optionTable()) {
    CompileOptions options;
    std::visit([&](auto field) { change(options, field); }, row.field);
    EXPECT_EQ(keys.insert(keyOf(decodeGraph(), options).hex()).second,
              row.scope != OptionRow::Cache)
        << row.name.str();
  }
}

TEST(CompileKey, AKeptGraphCountsAsItIsSpelled) {
  CompileOptions options;
  options.keepGraph = true;
  EXPECT_NE(keyOf(decodeGraph(), options).hex(), keyOf("\n" + decodeGraph(), options).hex())
      << "the artifact holds the text";
}

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

TEST(CompileKey, A60_TheCompilerIsKnownByItsBuild) {
  // A version, and the build ids of this executable, of LLVM and of MLIR.
  std::regex form("pagefold [0-9.]+( [0-9a-f]{16,}){3}");
  EXPECT_TRUE(std::regex_match(compilerIdentity(), form)) << compilerIdentity();
}
