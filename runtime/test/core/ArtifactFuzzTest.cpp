//===- ArtifactFuzzTest.cpp - damaged artifacts never crash ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactFixture.h"
#include "pagefold/runtime/Module.h"

#include <gtest/gtest.h>
#include <random>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
void seal(std::string &bytes) {
  uint64_t sum = checksum(std::string_view(bytes).substr(0, bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
}

size_t planEnd(const std::string &bytes) {
  uint32_t planSize;
  std::memcpy(&planSize, bytes.data() + 12, 4);
  return 16 + planSize;
}

size_t below(std::mt19937_64 &random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}
} // namespace

TEST(ArtifactFuzz, EveryFlippedBitIsAnError) {
  std::string bytes = testArtifact();
  ASSERT_TRUE(Module::load(bytes));
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = bytes;
    for (size_t flips = 1 + below(random, 3); flips-- > 0;)
      damaged[below(random, damaged.size())] ^= static_cast<char>(1 << below(random, 8));
    if (damaged != bytes) {
      EXPECT_FALSE(Module::load(damaged)) << "round " << round;
    }
  }
}

TEST(ArtifactFuzz, EveryTruncationIsAnError) {
  std::string bytes = testArtifact();
  std::mt19937_64 random(2);
  for (size_t size = 0; size < 200; ++size)
    EXPECT_FALSE(Module::load(std::string_view(bytes).substr(0, size))) << size << " bytes";
  for (int round = 0; round < 300; ++round) {
    size_t size = below(random, bytes.size());
    EXPECT_FALSE(Module::load(std::string_view(bytes).substr(0, size))) << size << " bytes";
  }
}

// Past the checksum: what a faulty writer could make. Such a plan may load (a flipped digit of a
// bound is a plan too), but nothing may crash.
TEST(ArtifactFuzz, SealedPlansLoadOrAreErrors) {
  std::string bytes = testArtifact();
  size_t end = planEnd(bytes);
  constexpr std::string_view kPieces = "0123456789-+.eE{}[],:\"\\nultrefas\0\xff";
  std::mt19937_64 random(3);
  int refused = 0, loaded = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string changed = bytes;
    for (size_t edits = 1 + below(random, 4); edits-- > 0;)
      changed[16 + below(random, end - 16)] = kPieces[below(random, kPieces.size())];
    seal(changed);
    Result<std::unique_ptr<Module>> module = Module::load(changed);
    module ? ++loaded : ++refused;
    if (!module) {
      EXPECT_FALSE(module.error().message().empty());
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(loaded, 0);
}

TEST(ArtifactFuzz, SealedHeadersAndRepeatedPiecesOfPlansAreErrorsOrLoad) {
  std::string bytes = testArtifact();
  size_t end = planEnd(bytes);
  std::mt19937_64 random(4);
  for (int round = 0; round < 1000; ++round) {
    std::string changed = bytes;
    if (round % 2)
      changed[8 + below(random, 8)] ^= static_cast<char>(1 << below(random, 8));
    else
      changed.replace(16 + below(random, end - 16), below(random, 40),
                      changed.substr(16 + below(random, end - 16), below(random, 40)));
    seal(changed);
    Result<Artifact> artifact = parse(changed);
    if (artifact) {
      EXPECT_TRUE(verify(artifact->plan));
    }
  }
}
