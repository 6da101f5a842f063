//===- WorkspaceTest.cpp - the memory of a launch and its counters --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"

#include <atomic>
#include <thread>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

namespace {
/// A workspace of exactly the size asked for between guard bytes.
class GuardedWorkspace {
public:
  explicit GuardedWorkspace(size_t size)
      : size_(size), memory_(size + 2 * kGuard, std::byte(0x5a)) {}
  void *data() { return aligned() + 64; }
  bool guardsIntact() {
    size_t before = static_cast<size_t>(aligned() + 64 - memory_.data());
    for (size_t i = 0; i < memory_.size(); ++i)
      if ((i < before || i >= before + size_) && memory_[i] != std::byte(0x5a))
        return false;
    return true;
  }

private:
  static constexpr size_t kGuard = 192;
  std::byte *aligned() {
    return reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 *
                                         64);
  }
  size_t size_;
  std::vector<std::byte> memory_;
};
} // namespace

TEST_F(Launch, A36_ExactWorkspaceIsEnoughAndItsGuardsStayIntact) {
  const pagefold_function *gather = function(module_, "gather");
  size_t size = pagefold_function_workspace_size(gather);
  ASSERT_EQ(size, size_t(kGatherWorkspace));
  GuardedWorkspace workspace(size);
  ASSERT_EQ(message(pagefold_workspace_init(gather, workspace.data(), size, nullptr)), "");
  EXPECT_EQ(static_cast<unsigned char *>(workspace.data())[128], 0xff) << "the plan's initial byte";
  GatherCase full(kGatherBatch);
  EXPECT_EQ(launch(gather, full.args(), workspace.data(), size), "");
  EXPECT_EQ(full.out.data, full.expected());
  EXPECT_TRUE(workspace.guardsIntact());
}

TEST_F(Launch, A36_OneByteLessIsRefused) {
  const pagefold_function *gather = function(module_, "gather");
  size_t size = pagefold_function_workspace_size(gather);
  GuardedWorkspace workspace(size);
  GatherCase full(kGatherBatch);
  std::string expected = "function 'gather': the workspace expects at least 2240 bytes, got 2239; "
                         "ask pagefold_function_workspace_size";
  EXPECT_EQ(launch(gather, full.args(), workspace.data(), size - 1), expected);
  EXPECT_EQ(message(pagefold_workspace_init(gather, workspace.data(), size - 1, nullptr)),
            expected);
  EXPECT_EQ(full.out.data, std::vector<float>(full.out.data.size(), -1.0f)) << "nothing ran";
  EXPECT_TRUE(workspace.guardsIntact());
}

TEST_F(Launch, MisalignedWorkspaceIsRefused) {
  const pagefold_function *gather = function(module_, "gather");
  GuardedWorkspace workspace(4096);
  GatherCase small;
  EXPECT_EQ(launch(gather, small.args(), static_cast<std::byte *>(workspace.data()) + 8, 4000),
            "function 'gather': the workspace expects an address that is a multiple of 64, got one "
            "at 8 past it");
  EXPECT_EQ(message(pagefold_workspace_init(gather, nullptr, 4096, nullptr)),
            "function 'gather': the workspace expects memory, got null");
}

TEST_F(Launch, WorkspaceOverAnArgumentIsRefused) {
  GatherCase gather;
  Tensor<float> pool({1024, 8});
  auto *workspace = reinterpret_cast<std::byte *>(
      (reinterpret_cast<uintptr_t>(pool.data.data()) + 4096 + 63) / 64 * 64);
  std::vector<const DLTensor *> args = gather.args();
  args[0] = pool.dl();
  EXPECT_EQ(launch("gather", args, workspace, kGatherWorkspace),
            "function 'gather', argument 0 'cache.values': expects memory outside the workspace, "
            "got an overlap");
}

TEST_F(Launch, OneWorkspaceServesOneLaunchAtATime) {
  const pagefold_function *wait = function(module_, "wait");
  Tensor<int32_t> flag({}), out({}), other({});
  alignas(64) std::byte workspace[128];
  std::string first;
  std::thread runner([&] { first = launch(wait, {flag.dl(), out.dl()}, workspace, 64); });
  while (!std::atomic_ref(out.data[0]).load())
    std::this_thread::yield();
  Tensor<int32_t> set({}, 1);
  EXPECT_EQ(launch(wait, {set.dl(), other.dl()}, workspace, 64),
            "function 'wait': the workspace expects one launch at a time, got a second one while "
            "the first is running; give each concurrent launch its own");
  EXPECT_EQ(launch(wait, {set.dl(), other.dl()}, workspace + 64, 64), "") << "the bytes beside it";
  std::atomic_ref(flag.data[0]).store(1);
  runner.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(launch(wait, {set.dl(), other.dl()}, workspace, 64), "") << "it is free again";
}

TEST_F(Launch, CountersAreOfTheLastLaunch) {
  const pagefold_function *gather = function(module_, "gather");
  GuardedWorkspace workspace(kGatherWorkspace);
  ASSERT_EQ(message(pagefold_workspace_init(gather, workspace.data(), kGatherWorkspace, nullptr)),
            "");
  GatherCase small; // lengths 0, 1, 2, 3, 0
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(launch(gather, small.args(), workspace.data(), kGatherWorkspace), "");
    char *json = nullptr;
    ASSERT_EQ(message(pagefold_function_counters_json(gather, workspace.data(), &json)), "");
    EXPECT_STREQ(json, R"({"tiles_full":0,"tiles_partial":0,"tiles_skipped":0,)"
                       R"("masked_elements":0,"keys_visited":6})");
    pagefold_string_free(json);
  }
  char *json = nullptr;
  EXPECT_EQ(
      message(pagefold_function_counters_json(function(module_, "words"), workspace.data(), &json)),
      "function 'words' was compiled without counters; compile it with the option counters");
  EXPECT_EQ(message(pagefold_function_counters_json(gather, nullptr, &json)),
            "the counters of 'gather' expect the workspace of a launch, got null");
}
