//===- LaunchTest.cpp - launches through the C ABI ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PAGEFOLD_TSAN 1
#endif
#endif

TEST_F(Launch, RunsThreeKernelsWithBarriersBetween) {
  for (int threads : {1, 2, 4, 7}) {
    ASSERT_EQ(message(pagefold_set_num_threads(threads)), "");
    for (int64_t requests : {1, 5, 64}) {
      GatherCase gather(requests);
      EXPECT_EQ(launch("gather", gather.args()), "");
      EXPECT_EQ(gather.out.data, gather.expected()) << threads << " threads, batch " << requests;
    }
  }
}

TEST_F(Launch, A07_EmptyBatchIsALaunch) {
  GatherCase gather(0);
  EXPECT_EQ(launch("gather", gather.args()), "");
}

TEST_F(Launch, ScalarsTravelAsWords) {
  Tensor<float> f32({}, -1.5f);
  Tensor<uint16_t> f16({}, 0xbc00), bf16({}, 0xbf80);
  f16.dtype = {kDLFloat, 16, 1};
  bf16.dtype = {kDLBfloat, 16, 1};
  Tensor<double> f64({}, -2.0);
  Tensor<int8_t> i8({}, -3);
  Tensor<uint8_t> f8({}, 0xb8), u8({}, 253), boolean({}, 1);
  f8.dtype = {10, 8, 1}; // float8_e4m3fn
  boolean.dtype = {6, 8, 1};
  Tensor<int32_t> i32({}, -4);
  Tensor<int64_t> i64({}, -5), out({10});
  ASSERT_EQ(launch("words", {f32.dl(), f16.dl(), bf16.dl(), f8.dl(), f64.dl(), i8.dl(), u8.dl(),
                             i32.dl(), i64.dl(), boolean.dl(), out.dl()}),
            "");
  std::vector<int64_t> expected = {0xbfc00000, 0xbc00, 0xbf80, 0xb8, int64_t(0xc000000000000000),
                                   -3,         253,    -4,     -5,   1};
  EXPECT_EQ(out.data, expected);
}

//===----------------------------------------------------------------------===//
// What a kernel says about a request
//===----------------------------------------------------------------------===//

TEST_F(Launch, A44_BadPageIdNamesRequestAndPlaceAndLeavesTheOthersRight) {
  GatherCase gather;
  gather.table.data[3 * 3 + 1] = 77; // request 3 has three pages
  std::vector<float> good = GatherCase().expected();
  EXPECT_EQ(
      launch("gather", gather.args()),
      "function 'gather', request 3: page id 77 at cache.table[3, 1] expects 0 <= id < 7; fix "
      "the page table; the results of the other requests are valid");
  gather.table.data[3 * 3 + 1] = GatherCase().table.data[3 * 3 + 1];
  EXPECT_EQ(launch("gather", gather.args()), "") << "the error word is cleared by the next launch";
  EXPECT_EQ(gather.out.data, good);
}

TEST_F(Launch, A44_NegativePageIdInAStridedTable) {
  GatherCase gather;
  Tensor<int32_t> wide({5, 6});
  for (size_t r = 0; r < 5; ++r)
    std::copy_n(gather.table.data.begin() + static_cast<long>(3 * r), 3,
                wide.data.begin() + static_cast<long>(6 * r + 1));
  wide.data[6 * 2 + 1] = -1;
  wide.shape = {5, 3};
  wide.strides = {6, 1};
  wide.byteOffset = 4;
  std::vector<const DLTensor *> args = gather.args();
  args[1] = wide.dl();
  EXPECT_EQ(
      launch("gather", args),
      "function 'gather', request 2: page id -1 at cache.table[2, 0] expects 0 <= id < 7; fix "
      "the page table; the results of the other requests are valid");
}

TEST_F(Launch, LengthPastTheTableNamesTheLimit) {
  GatherCase gather;
  gather.lens.data[4] = 9;
  EXPECT_EQ(
      launch("gather", gather.args()),
      "function 'gather', request 4: length 9 expects at most the 3 keys that the page table "
      "has columns for; give a wider page table; the results of the other requests are valid");
}

//===----------------------------------------------------------------------===//
// Threads and processes
//===----------------------------------------------------------------------===//

TEST_F(Launch, EightThreadsLaunchAtOnce) {
  ASSERT_EQ(message(pagefold_set_num_threads(4)), "");
  std::vector<std::string> errors(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < errors.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50 && errors[t].empty(); ++round) {
        GatherCase gather(static_cast<int64_t>(1 + (t * 7 + static_cast<size_t>(round)) % 64));
        gather.bias.data[0] = static_cast<float>(t);
        errors[t] = launch("gather", gather.args());
        if (errors[t].empty() && gather.out.data != gather.expected())
          errors[t] = "wrong result";
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(8));
}

TEST_F(Launch, ThreadsMayChangeWhileOthersLaunch) {
  std::string error;
  std::thread launcher([&] {
    for (int round = 0; round < 100 && error.empty(); ++round) {
      GatherCase gather(64);
      error = launch("gather", gather.args());
      if (error.empty() && gather.out.data != gather.expected())
        error = "wrong result";
    }
  });
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(message(pagefold_set_num_threads(1 + round % 5)), "");
  launcher.join();
  EXPECT_EQ(error, "");
}

TEST_F(Launch, NumberOfThreadsIsChecked) {
  EXPECT_EQ(message(pagefold_set_num_threads(0)), "the number of threads expects 1 to 1024, got 0");
  EXPECT_EQ(message(pagefold_set_num_threads(1025)),
            "the number of threads expects 1 to 1024, got 1025");
}

namespace {
/// Launches until told to stop, so that a fork finds locks held and launches under way.
class BusyThread {
public:
  explicit BusyThread(const pagefold_function *function)
      : thread_([this, function] {
          GatherCase gather(64);
          std::vector<const DLTensor *> args = gather.args();
          alignas(64) std::byte workspace[kGatherWorkspace];
          while (!stop_)
            pagefold_error_free(pagefold_function_launch(function, args.data(), args.size(),
                                                         workspace, sizeof(workspace), nullptr));
        }) {}
  ~BusyThread() {
    stop_ = true;
    thread_.join();
  }

private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// Whether launches work in this process.
bool launchesWork(const pagefold_function *function) {
  for (int round = 0; round < 10; ++round) {
    GatherCase gather(64);
    std::vector<const DLTensor *> args = gather.args();
    alignas(64) std::byte workspace[kGatherWorkspace];
    if (pagefold_function_launch(function, args.data(), args.size(), nullptr, 0, nullptr) ||
        pagefold_function_launch(function, args.data(), args.size(), workspace, sizeof(workspace),
                                 nullptr) ||
        gather.out.data != gather.expected())
      return false;
  }
  return true;
}
} // namespace

TEST_F(Launch, A63_ForkThenLaunchInTheChild) {
#ifdef PAGEFOLD_TSAN
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork of a process with threads";
#endif
  ASSERT_EQ(message(pagefold_set_num_threads(4)), "");
  const pagefold_function *gather = function(module_, "gather");
  ASSERT_TRUE(launchesWork(gather)) << "the parent's pool has threads";
  BusyThread busy(gather);
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      _exit(launchesWork(gather) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
  EXPECT_TRUE(launchesWork(gather));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

TEST_F(Launch, ModulesOfTheSameCodeAreApart) {
  // The loader knows objects by name, and names of closed descriptors come back.
  for (int round = 0; round < 3; ++round) {
    std::string bytes = testArtifact();
    pagefold_module *modules[3] = {};
    for (pagefold_module *&module : modules)
      ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module)), "");
    for (pagefold_module *module : modules) {
      GatherCase gather;
      EXPECT_EQ(launch(function(module, "gather"), gather.args()), "");
      EXPECT_EQ(gather.out.data, gather.expected());
      pagefold_module_free(module);
    }
  }
}

TEST_F(Launch, FunctionsAreFoundByName) {
  pagefold_function *found = nullptr;
  EXPECT_EQ(message(pagefold_module_function(module_, "attend", &found)),
            "the module has no function 'attend', it has 'gather', 'words', 'wait'");
  EXPECT_EQ(message(pagefold_module_function(module_, nullptr, &found)),
            "expects the name of a function, as the module has several: 'gather', 'words', 'wait'");
  EXPECT_EQ(found, nullptr);
}

TEST_F(Launch, VariantsAreFoundByTheirMaxima) {
  Plan plan = testPlan();
  FunctionPlan variant = plan.functions[0];
  plan.functions.clear();
  auto add = [&](const char *name, const char *graph, std::map<std::string, int64_t> bounds) {
    variant.name = name;
    variant.graph = graph;
    variant.bounds = std::move(bounds);
    plan.functions.push_back(variant);
  };
  add("small", "layer", {{"batch", 8}, {"q_len", 1}, {"kv_len", 100}, {"tokens", 8}});
  add("rows", "layer", {{"batch", 2}, {"q_len", 64}, {"kv_len", 100}, {"tokens", 70}});
  add("large", "layer", {{"batch", 8}, {"q_len", 64}, {"kv_len", 1000}, {"tokens", 512}});
  add("other", "", {{"batch", 1}, {"q_len", 1}, {"kv_len", 1}, {"tokens", 1}});
  std::string bytes = testArtifact(plan);
  pagefold_module *module = nullptr;
  ASSERT_EQ(message(pagefold_module_load(bytes.data(), bytes.size(), &module)), "");
  auto variantFor = [&](const char *graph, int64_t batch, int64_t qLen, int64_t kvLen,
                        int64_t tokens = 0) -> std::string {
    pagefold_function *found = nullptr;
    std::string error =
        message(pagefold_module_function_for(module, graph, batch, qLen, kvLen, tokens, &found));
    if (!error.empty())
      return error;
    for (const char *name : {"small", "rows", "large", "other"})
      if (function(module, name) == found)
        return name;
    return "none of them";
  };
  EXPECT_EQ(variantFor("layer", 8, 1, 100), "small");
  EXPECT_EQ(variantFor("layer", 0, 0, 0), "small");
  EXPECT_EQ(variantFor("layer", 8, 1, 101), "large");
  EXPECT_EQ(variantFor("layer", 2, 2, 100), "rows");
  EXPECT_EQ(variantFor("layer", 2, 64, 100, 65), "rows");
  EXPECT_EQ(variantFor("layer", 2, 64, 100, 71), "large") << "one number is enough";
  EXPECT_EQ(variantFor("layer", 2, 64, 100), "large") << "tokens left out are batch x q_len";
  EXPECT_EQ(variantFor("other", 1, 1, 1), "other") << "a function is its own variant";
  EXPECT_EQ(variantFor("layer", 9, 1, 2000),
            "no variant holds the batch: batch 9 > 8 of 'small', batch 9 > 2 of 'rows', "
            "batch 9 > 8 of 'large'; declare larger maxima (attn.bounds)");
  EXPECT_EQ(variantFor("other", 1, 1, 2), "no variant holds the batch: kv_len 2 > 1 of 'other'; "
                                          "declare larger maxima (attn.bounds)");
  EXPECT_EQ(variantFor("small", 1, 1, 1),
            "the module has no graph 'small', it has 'layer', 'other'");
  EXPECT_EQ(variantFor(nullptr, 1, 1, 1),
            "expects the name of a graph, as the module has several: 'layer', 'other'");
  for (int64_t bad : {int64_t{-1}, INT64_MAX})
    EXPECT_EQ(variantFor("layer", bad, 2, 1),
              "expects batch, q_len, kv_len and tokens of at least 0 that can be multiplied");
  pagefold_function *found = nullptr;
  EXPECT_EQ(message(pagefold_module_function(module, "layer", &found)),
            "the graph 'layer' was compiled for several maxima, as 'small', 'rows', 'large'; take "
            "one of these, or ask for the one for a batch");
  EXPECT_EQ(message(pagefold_module_function_for(module, "layer", 1, 1, 1, 1, nullptr)),
            message(pagefold_module_function(module, "layer", nullptr)));
  pagefold_module_free(module);
}

TEST_F(Launch, PlanTellsArgumentsAndResults) {
  std::string json = pagefold_function_plan_json(function(module_, "gather"));
  EXPECT_NE(json.find(R"("args":[{"name":"cache.values","dtype":"f32","shape":[null,8])"),
            std::string::npos)
      << json;
  EXPECT_NE(
      json.find(R"("results":[{"name":"out0","dtype":"f32","shape":[null,8],"access":"write",)"
                R"("symbolic_shape":["batch",8])"),
      std::string::npos)
      << json;
}

TEST_F(Launch, OnTheHostThereIsNothingToCheck) {
  EXPECT_EQ(message(pagefold_function_check(function(module_, "gather"))), "");
  EXPECT_EQ(message(pagefold_function_check(nullptr)), "expects a function, got null");
}

TEST_F(Launch, NullHandlesAreErrors) {
  EXPECT_EQ(message(pagefold_function_launch(nullptr, nullptr, 0, nullptr, 0, nullptr)),
            "expects a function, got null");
  EXPECT_EQ(message(pagefold_module_load(nullptr, 0, nullptr)),
            "expects an artifact's bytes, got null");
  pagefold_module_free(nullptr);
  pagefold_error_free(nullptr);
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

TEST_F(Launch, ExplanationsAreTextOrJson) {
  pagefold_function *gather = function(module_, "gather");
  char *text = nullptr;
  ASSERT_EQ(message(pagefold_function_explain(gather, nullptr, 0, 0, nullptr, &text)), "");
  EXPECT_EQ(std::string(text).find("'gather' for host"), 0u) << text;
  EXPECT_NE(std::string(text).find("    cache.lens: i32 [batch]\n"), std::string::npos) << text;
  pagefold_string_free(text);
  GatherCase arguments;
  std::vector<const DLTensor *> args = arguments.args();
  ASSERT_EQ(
      message(pagefold_function_explain(gather, args.data(), args.size(), 2.5, "json", &text)), "");
  EXPECT_NE(std::string(text).find("\"measured_us\": 2500.0"), std::string::npos) << text;
  pagefold_string_free(text);
}

TEST_F(Launch, ExplanationsRefuseWhatDoesNotFit) {
  pagefold_function *gather = function(module_, "gather");
  char *text = nullptr;
  EXPECT_EQ(message(pagefold_function_explain(gather, nullptr, 0, 0, "xml", &text)),
            "an explanation expects the format text or json, got 'xml'");
  GatherCase arguments;
  std::vector<const DLTensor *> args = arguments.args();
  EXPECT_EQ(message(pagefold_function_explain(gather, args.data(), 2, 0, "text", &text)),
            "function 'gather': an explanation expects its 4 inputs, or all 5 arguments, got 2");
  args[1] = nullptr;
  EXPECT_EQ(message(pagefold_function_explain(gather, args.data(), args.size(), 0, "text", &text)),
            "function 'gather', argument 1 'cache.table': expects a tensor of rank 2, got null");
  EXPECT_NE(message(pagefold_function_explain(nullptr, nullptr, 0, 0, "text", &text)), "");
  EXPECT_NE(message(pagefold_function_explain(gather, nullptr, 0, 0, "text", nullptr)), "");
}
