//===- ArtifactCacheTest.cpp - compiles that take what is kept ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each compile is a process of its own, so that memory has nothing of another's.
//
//===----------------------------------------------------------------------===//

#include "ArtifactCache.h"
#include "JitFixture.h"
#include "pagefold/runtime/Artifact.h"
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace pagefold;
using namespace pagefold::jit;
using namespace pagefold::jit::test;

/// The last remark of a compile, or its error.
static std::string outcomeOf(const CompileOptions &options) {
  runtime::Result<Compiled> compiled = compile(decodeGraph(), options);
  if (!compiled)
    return compiled.error().message();
  llvm::StringRef remarks = compiled->remarks;
  return remarks.rtrim().rsplit('\n').second.str();
}

/// In a process of its own: whether the outcome of a compile has `part` in it.
static ::testing::AssertionResult compiles(const CompileOptions &options, const std::string &part) {
  TemporaryDirectory place;
  inProcesses(1, [&](int) {
    writeFile(place.file("outcome"), outcomeOf(options));
    return true;
  });
  std::string outcome = readFile(place.file("outcome"));
  if (outcome.find(part) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expects '" << part << "', got '" << outcome << "'";
}

static CompileOptions onDisk(const TemporaryDirectory &place) {
  CompileOptions options;
  options.cache = "disk";
  options.cacheDir = place.path();
  return options;
}

TEST(ArtifactCache, KeepsOnDiskForOtherProcesses) {
  TemporaryDirectory place;
  EXPECT_TRUE(
      compiles(onDisk(place), "Analysis artifact-cache: compiled, kept in " + place.path()));
  EXPECT_TRUE(compiles(onDisk(place), "Analysis artifact-cache: found in " + place.path()));
  EXPECT_EQ(place.list().size(), 1u);
}

TEST(ArtifactCache, GivesWhatACompileGives) {
  TemporaryDirectory place;
  auto withoutLast = [](llvm::StringRef remarks) {
    return remarks.rtrim().rsplit('\n').first.str();
  };
  CompileOptions kept = onDisk(place), off;
  kept.kvTile = off.kvTile = 128; // which no other test has put into this process's memory
  off.cache = "off";
  runtime::Result<Compiled> fresh = compile(decodeGraph(), off);
  ASSERT_TRUE(fresh);
  EXPECT_NE(fresh->remarks.find("tile-select-schedule"), std::string::npos);
  EXPECT_EQ(fresh->remarks.find("artifact-cache"), std::string::npos);
  for (const char *outcome : {"compiled", "found in memory"}) {
    runtime::Result<Compiled> given = compile(decodeGraph(), kept);
    ASSERT_TRUE(given);
    EXPECT_EQ(given->artifact, fresh->artifact);
    EXPECT_EQ(withoutLast(given->remarks) + "\n", fresh->remarks);
    EXPECT_NE(given->remarks.find(outcome), std::string::npos) << given->remarks;
  }
  std::string read = place.list().front();
  std::optional<Compiled> entry = readEntry(keyOf(decodeGraph(), kept), readFile(place.file(read)));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->artifact, fresh->artifact);
  EXPECT_EQ(entry->remarks, fresh->remarks);
}

TEST(ArtifactCache, AnErrorIsNotKept) {
  TemporaryDirectory place;
  CompileOptions options = onDisk(place);
  options.qTile = 17; // no schedule has that
  options.form = "dot";
  for (int i = 0; i < 2; ++i)
    EXPECT_NE(outcomeOf(options).find("expects q_tile from 1 to 16"), std::string::npos);
  EXPECT_TRUE(place.list().empty());
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

TEST(ArtifactCache, A60_ADamagedFileIsNeverTakenAndIsReplaced) {
  TemporaryDirectory place;
  ASSERT_TRUE(compiles(onDisk(place), "kept in"));
  const std::string file = place.file(place.list().front()), good = readFile(file);
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  std::string otherKey = writeEntry(keyNumber(1), *readEntry(keyOf(decodeGraph()), good));
  for (const std::string &damaged :
       {flipped, good.substr(0, good.size() - 1), std::string(), std::string("text"), otherKey}) {
    writeFile(file, damaged);
    EXPECT_TRUE(compiles(onDisk(place), "compiled again, as the artifact in " + place.path() +
                                            " was damaged, kept in " + place.path()));
    EXPECT_EQ(readFile(file), good) << "rebuilt";
    EXPECT_TRUE(compiles(onDisk(place), "found in " + place.path()));
  }
}

//===----------------------------------------------------------------------===//
// Where it cannot be kept
//===----------------------------------------------------------------------===//

TEST(ArtifactCache, A61_WithoutAHomeItWorksFromMemory) {
  Variable directory("PAGEFOLD_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  Variable mode("PAGEFOLD_CACHE", nullptr);
  const std::string missed = "Missed artifact-cache: compiled, kept in memory only: ";
  {
    Variable home("HOME", "/proc"); // where nobody can make a directory
    EXPECT_TRUE(compiles({}, missed + "cannot make the directory /proc/.cache/pagefold: "));
    EXPECT_TRUE(compiles({}, "set PAGEFOLD_CACHE_DIR to a directory of your own"));
  }
  {
    Variable home("HOME", "relative");
    EXPECT_TRUE(compiles({}, missed + "neither XDG_CACHE_HOME nor HOME names an absolute path"));
  }
}

TEST(ArtifactCache, A61_AReadOnlyHomeWorksFromMemory) {
  TemporaryDirectory home;
  ASSERT_EQ(chmod(home.path().c_str(), 0555), 0);
  Variable directory("PAGEFOLD_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  Variable mode("PAGEFOLD_CACHE", nullptr), homeIs("HOME", home.path().c_str());
  EXPECT_TRUE(asAnotherUser([&] {
    std::string first = outcomeOf({}), second = outcomeOf({});
    return first.find("kept in memory only: cannot make the directory " + home.path()) !=
               std::string::npos &&
           second == "Analysis artifact-cache: found in memory";
  }));
}

TEST(ArtifactCache, A61_HomeIsUsedWhereItCanBe) {
  TemporaryDirectory home("pagefold home Ü");
  Variable directory("PAGEFOLD_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr);
  Variable mode("PAGEFOLD_CACHE", nullptr), homeIs("HOME", home.path().c_str());
  EXPECT_TRUE(compiles({}, "kept in " + home.file(".cache/pagefold")));
  EXPECT_TRUE(compiles({}, "found in " + home.file(".cache/pagefold")));
  Variable other("XDG_CACHE_HOME", home.file("other").c_str());
  EXPECT_TRUE(compiles({}, "kept in " + home.file("other/pagefold")));
}

TEST(ArtifactCache, AFullDiskIsARemark) {
  TemporaryDirectory place;
  CompileOptions options = onDisk(place);
  options.cacheMaxBytes = 1000;
  EXPECT_TRUE(compiles(options, "bytes are more than the 1000 that " + place.path() +
                                    " may hold; set PAGEFOLD_CACHE_MAX_BYTES to more"));
  EXPECT_TRUE(place.list().empty());
}

TEST(ArtifactCache, StaysUnderItsSize) {
  TemporaryDirectory place;
  CompileOptions options = onDisk(place);
  ASSERT_TRUE(compiles(options, "kept in"));
  const std::string first = place.list().front();
  options.cacheMaxBytes = static_cast<int64_t>(readFile(place.file(first)).size()) * 3 / 2;
  options.counters = true;
  ASSERT_TRUE(compiles(options, "kept in"));
  ASSERT_EQ(place.list().size(), 1u);
  EXPECT_NE(place.list().front(), first);
}

//===----------------------------------------------------------------------===//
// Options and the environment
//===----------------------------------------------------------------------===//

TEST(ArtifactCache, OptionsComeBeforeTheEnvironment) {
  TemporaryDirectory place, other;
  Variable directory("PAGEFOLD_CACHE_DIR", other.path().c_str()), mode("PAGEFOLD_CACHE", "memory");
  CompileOptions options = onDisk(place);
  options.cache = "";
  EXPECT_TRUE(compiles(options, "Analysis artifact-cache: compiled")) << "memory";
  EXPECT_TRUE(place.list().empty());
  options.cache = "disk";
  EXPECT_TRUE(compiles(options, "kept in " + place.path()));
  options.cacheDir = "";
  EXPECT_TRUE(compiles(options, "kept in " + other.path()));
  options.cache = "off";
  EXPECT_TRUE(compiles(options, "tile-")) << "no remark of the cache";
}

TEST(ArtifactCache, AMisspeltVariableIsAnError) {
  {
    Variable mode("PAGEFOLD_CACHE", "disc");
    EXPECT_EQ(outcomeOf({}),
              "the environment variable PAGEFOLD_CACHE expects disk, memory or off, got 'disc'");
  }
  Variable mode("PAGEFOLD_CACHE", "disk");
  for (const char *text : {"1G", "0", "-5"}) {
    Variable size("PAGEFOLD_CACHE_MAX_BYTES", text);
    EXPECT_EQ(outcomeOf({}).find("the environment variable PAGEFOLD_CACHE_MAX_BYTES expects a "
                                 "number above 0, got '" +
                                 std::string(text) + "'"),
              0u);
  }
}

//===----------------------------------------------------------------------===//
// Many processes
//===----------------------------------------------------------------------===//

TEST(ArtifactCache, A58_ManyProcessesStartCold) {
  TemporaryDirectory place, results;
  slowRenames(true);
  EXPECT_EQ(inProcesses(16,
                        [&](int process) {
                          runtime::Result<Compiled> compiled =
                              compile(decodeGraph(), onDisk(place));
                          if (!compiled || !runtime::parse(compiled->artifact))
                            return false;
                          writeFile(results.file(std::to_string(process)), compiled->artifact);
                          return true;
                        }),
            16);
  slowRenames(false);
  for (const std::string &result : results.list())
    EXPECT_EQ(readFile(results.file(result)), readFile(results.file("0"))) << result;
  ASSERT_EQ(place.list().size(), 1u) << "one artifact, and nothing half written";
  EXPECT_TRUE(compiles(onDisk(place), "found in " + place.path()));
}
