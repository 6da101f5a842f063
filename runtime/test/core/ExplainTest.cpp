//===- ExplainTest.cpp - explanations and the arithmetic in them ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Explain.h"
#include "ArtifactFixture.h"
#include "LaunchWork.h"
#include "WorkProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace pagefold::runtime;
using namespace pagefold::runtime::test;
using nlohmann::json;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::vector<int64_t> run(const std::string &text, std::vector<int64_t> inputs) {
  std::optional<WorkProgram> program = WorkProgram::parse(text, inputs.size());
  if (!program)
    return {};
  std::span<const int64_t> results = program->run(inputs);
  return {results.begin(), results.end()};
}

TEST(WorkProgram, RunsEachOp) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(run("const -7; add 0 1; sub 0 1; mul 0 1; return 2 3 4 5", {9, 2}),
            (Numbers{-7, 11, 7, 18}));
  EXPECT_EQ(run("div 0 1; shl 0 1; shr 0 1; return 2 3 4", {-9, 2}), (Numbers{-4, -36, -3}));
  EXPECT_EQ(run("and 0 1; or 0 1; max 0 1; min 0 1; return 2 3 4 5", {6, 3}),
            (Numbers{2, 7, 6, 3}));
  EXPECT_EQ(run("eq 0 1; le 0 1; lt 0 1; ge 0 1; gt 0 1; return 2 3 4 5 6", {3, 3}),
            (Numbers{1, 1, 0, 1, 0}));
  EXPECT_EQ(run("select 0 1 2; return 3", {0, 5, 6}), Numbers{6});
}

TEST(WorkProgram, NothingTraps) {
  EXPECT_EQ(run("div 0 1; return 2", {5, 0}), std::vector<int64_t>{0});
  EXPECT_EQ(run("div 0 1; return 2", {INT64_MIN, -1}), std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(run("add 0 0; return 1", {INT64_MAX}), std::vector<int64_t>{-2});
  EXPECT_EQ(run("shl 0 1; return 2", {1, 64}), std::vector<int64_t>{1});
}

TEST(WorkProgram, RefusesWhatIsNoProgram) {
  for (const char *text : {"", "add 0 1", "add 0 2; return 0", "add 0; return 0",
                           "jump 0; return 0", "const; return 0", "const 1x; return 0", "return 2",
                           "return 0; add 0 1", "add 0 -1; return 0"})
    EXPECT_FALSE(WorkProgram::parse(text, 2)) << text;
}

//===----------------------------------------------------------------------===//
// The work of a kernel
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t kRows = 0, kLens = 1;

/// One KV head with a group of 2, heads of 8 f32 elements, pages of 4, causal; the visit list is
/// the full tiles below the first row's position, and the rest masked.
Plan causalPlan() {
  SpacePlan space;
  space.group = 2;
  space.kDim = space.vDim = 8;
  space.qTile = space.kvTile = space.pageSize = 4;
  space.packed = true;
  space.kvRowBytes = 64;
  space.queryRowBytes = space.outputRowBytes = 32;
  space.rowsArg = kRows;
  space.lensArg = kLens;
  space.ranges = {"full", "partial"};
  // Inputs: qlo 0, qhi 1, q_len 2, kv_len 3. Tiles: [0, (qlo + off + 1) / 4) full, then to the end.
  space.visits =
      "sub 3 2; const 1; add 0 4; add 6 5; const 4; div 7 8; add 1 4; add 10 8; div 11 8; "
      "const 0; return 13 9 9 12";
  space.test = "const 1; return 5 5";
  space.visible = "sub 3 2; add 0 4; le 1 5; lt 1 3; and 6 7; return 8"; // q, k, q_len, kv_len

  FunctionPlan function;
  function.name = "decode";
  function.bounds = {{"batch", 4}, {"q_len", 4}, {"kv_len", 64}};
  function.args = {{"rows", DType::I32, {Extent::symbolic("batch", 1)}},
                   {"lens", DType::I32, {Extent::symbolic("batch")}},
                   {"out0", DType::F32, {Extent::any(), Extent::fixed(2)}, Access::Write}};
  function.workspaceSize = 64;
  function.errorWord = 0;
  function.kernels.resize(2);
  function.kernels[0].symbol = "decode_k0";
  function.kernels[0].about.emplace();
  function.kernels[0].about->op = "tile.space";
  function.kernels[0].about->form = "dot";
  function.kernels[0].about->pages = "loads";
  function.kernels[0].about->space = space;
  function.kernels[1].symbol = "decode_k1";
  function.kernels[1].about.emplace();
  function.kernels[1].about->op = "tile.rows";
  function.kernels[1].about->traffic = {{kRows, 100}, {-1, 7}};
  function.remarks = {{"missed", "attn-fuse", "NotFused", "it stays", "it has another use"}};

  Plan plan;
  plan.compiler = "test";
  plan.target = testPlan().target;
  plan.options = {"fuse=false"};
  plan.functions = {function};
  return plan;
}

struct Batch {
  Tensor<int32_t> rows{{3}}, lens{{2}};
  Batch() {
    rows.data = {0, 2, 3};
    lens.data = {5, 8};
  }
  std::vector<const DLTensor *> args() { return {rows.dl(), lens.dl()}; }
};

Status readHost(void *to, const DLTensor &tensor, size_t offset, size_t size) {
  std::memcpy(to, static_cast<const char *>(tensor.data) + tensor.byte_offset + offset, size);
  return {};
}

Result<KernelWork> workOf(const Plan &plan, Batch &batch, size_t kernel = 0) {
  const FunctionPlan &function = plan.functions[0];
  std::vector<const DLTensor *> args = batch.args();
  return pagefold::runtime::workOf(function, *function.kernels[kernel].about, args, readHost);
}

/// A round chip: 1 GB/s, 1 GFLOP/s.
MachinePlan roundMachine() {
  return {"round", 4, 1'000'000'000, 1'000'000'000, 1'000'000'000, 100};
}

} // namespace

TEST(LaunchWork, ATinyBatchByHand) {
  Batch batch;
  Result<KernelWork> work = workOf(causalPlan(), batch);
  ASSERT_TRUE(work) << work.error().message();
  // Request 0: rows at positions 3 and 4 of 5 keys see 4 + 5; request 1: one row sees 8. 2 heads.
  EXPECT_EQ(work->flops, 2.0 * (8 + 8) * 2 * (4 + 5 + 8));
  // 4 and 2 packed rows, of tiles [full, partial] and [full, full].
  EXPECT_EQ(work->tilesFull, 3);
  EXPECT_EQ(work->tilesPartial, 1);
  EXPECT_EQ(work->tilesSkipped, 0);
  EXPECT_EQ(work->executedFlops, 2.0 * (8 + 8) * (2 * 4 * 4 + 2 * 2 * 4));
  // Keys and values of 13 tokens, 3 rows of 2 heads in and out, 2 + 2 page ids, 5 offsets and
  // lengths.
  EXPECT_EQ(work->bytes, 13.0 * 64 + 3 * 2 * 64 + 4 * 4 + 5 * 4);
  EXPECT_EQ(work->loads, work->bytes);
  EXPECT_FALSE(work->sampled);
}

TEST(LaunchWork, QueryTilesReadKeysAgain) {
  Plan plan = causalPlan();
  plan.functions[0].kernels[0].about->space->qTile = 2; // a tile for each query row
  Batch batch;
  Result<KernelWork> work = workOf(plan, batch);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->bytes, 13.0 * 64 + 3 * 2 * 64 + 4 * 4 + 5 * 4);
  EXPECT_EQ(work->loads, work->bytes + 4 * 64) << "the first row does not visit the fifth key";
  EXPECT_EQ(work->tilesSkipped, 1);
}

TEST(LaunchWork, RequestsOfAnotherSpaceHaveNoItems) {
  Plan plan = causalPlan();
  plan.functions[0].kernels[0].about->space->maxQLen = 1;
  Batch batch;
  Result<KernelWork> work = workOf(plan, batch);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->tilesFull, 2);
  EXPECT_EQ(work->flops, 2.0 * (8 + 8) * 2 * 8);
}

TEST(LaunchWork, BrokenRequestsAreSkipped) {
  Batch batch;
  batch.rows.data = {2, 0, 1}; // negative, then one row
  batch.lens.data = {5, 1000}; // above the bound
  Result<KernelWork> work = workOf(causalPlan(), batch);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 0);
  EXPECT_EQ(work->tilesFull + work->tilesPartial, 0);
}

TEST(LaunchWork, TrafficIsBytesForEachRow) {
  Batch batch;
  Result<KernelWork> work = workOf(causalPlan(), batch, 1);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->bytes, 3 * 100 + 7);
}

TEST(LaunchWork, ArgumentsOfAnotherTypeAreRefused) {
  Batch batch;
  Tensor<int64_t> wide({2}, 5);
  const FunctionPlan function = causalPlan().functions[0];
  std::vector<const DLTensor *> args = {batch.rows.dl(), wide.dl()};
  Result<KernelWork> work =
      pagefold::runtime::workOf(function, *function.kernels[0].about, args, readHost);
  ASSERT_FALSE(work);
  EXPECT_EQ(work.error().message(), "function 'decode', argument 'lens': expects i32 in one "
                                    "dimension, got rank 1 and 64 bits");
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

TEST(Roofline, EachClass) {
  KernelAbout about;
  about.space.emplace();
  auto kind = [&](double flops, double executed, double bytes, double shares) {
    KernelWork work;
    work.flops = flops;
    work.executedFlops = executed;
    work.bytes = bytes;
    work.shares = shares;
    return std::string(boundOf(about, work, roundMachine()).kind);
  };
  EXPECT_EQ(kind(1e6, 1e6, 1e3, 4), "compute");
  EXPECT_EQ(kind(1e3, 1e3, 1e6, 4), "memory");
  EXPECT_EQ(kind(50, 50, 50, 4), "launch") << "50 ns of work, 100 ns of launch";
  EXPECT_EQ(kind(1e6, 3e6, 1e3, 4), "shape") << "three times the work, for padding";
  EXPECT_EQ(kind(1e6, 2e6, 1e3, 4), "compute") << "twice is not more than twice";
  EXPECT_EQ(kind(1e6, 1e6, 1e3, 1), "shape") << "three of four multiprocessors are idle";
  about.space->share = "parts";
  about.space->splits = 4;
  EXPECT_EQ(kind(1e6, 1e6, 1e3, 1), "compute") << "the one item is split in four";
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

TEST(Explain, TheCompileAlone) {
  Plan plan = causalPlan();
  Result<std::string> text = explainFunction(plan, plan.functions[0], nullptr, ExplainFormat::Json);
  ASSERT_TRUE(text);
  json explained = json::parse(*text);
  EXPECT_EQ(explained["options"], json::array({"fuse=false"}));
  EXPECT_EQ(explained["kernels"][0]["kv_tile"], 4);
  EXPECT_EQ(explained["kernels"][0]["pages"], (json{{"path", "loads"}, {"page", 4}}));
  EXPECT_EQ(explained["remarks"][0]["reason"], "it has another use");
  EXPECT_FALSE(explained.contains("launch"));
  text = explainFunction(plan, plan.functions[0], nullptr, ExplainFormat::Text);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("  options: fuse=false\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("Missed attn-fuse: in decode: it stays: it has another use\n"),
            std::string::npos);
}

TEST(Explain, ALaunchAndItsTime) {
  Plan plan = causalPlan();
  plan.target.machine = roundMachine();
  Batch batch;
  std::vector<const DLTensor *> args = batch.args();
  LaunchFacts launch;
  launch.multiprocessors = 2; // an item each
  launch.args = args;
  launch.milliseconds = 0.01;
  launch.read = readHost;
  Result<std::string> text = explainFunction(plan, plan.functions[0], &launch, ExplainFormat::Json);
  ASSERT_TRUE(text) << text.error().message();
  json explained = json::parse(*text), &kernel = explained["kernels"][0]["launch"];
  EXPECT_EQ(kernel["tiles"], (json{{"full", 3}, {"partial", 1}, {"skipped", 0}}));
  EXPECT_EQ(kernel["flops"], 1088);
  EXPECT_EQ(kernel["bytes"], 1252);
  EXPECT_DOUBLE_EQ(kernel["memory_us"].get<double>(), 1.252);
  EXPECT_EQ(kernel["class"], "memory");
  json &total = explained["launch"];
  EXPECT_NEAR(total["roofline_us"].get<double>(), 1.252 + 0.307, 1e-9);
  EXPECT_NEAR(total["fraction_of_roofline"].get<double>(), 0.1559, 1e-9);
  EXPECT_EQ(total["machine"], "round");
}

TEST(Explain, TooFewArgumentsAreRefused) {
  Plan plan = causalPlan();
  Batch batch;
  std::vector<const DLTensor *> args = {batch.rows.dl()};
  LaunchFacts launch;
  launch.args = args;
  launch.read = readHost;
  Result<std::string> text = explainFunction(plan, plan.functions[0], &launch, ExplainFormat::Text);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(),
            "function 'decode': an explanation expects its 2 inputs, or all "
            "3 arguments, got 1");
}

TEST(Explain, AnArtifactKeepsIt) {
  Plan plan = causalPlan();
  plan.target.machine = roundMachine();
  plan.functions[0].kernels[0].about->registers = {168, 8};
  CodeSection section{"elf-shared", "code"};
  Result<std::string> bytes = serialize(plan, {&section, 1});
  ASSERT_TRUE(bytes) << bytes.error().message();
  Result<Artifact> artifact = parse(*bytes);
  ASSERT_TRUE(artifact) << artifact.error().message();
  EXPECT_EQ(artifact->plan, plan);
}

TEST(Explain, BrokenPlansAreRefused) {
  auto fault = [](auto change) {
    Plan plan = causalPlan();
    change(*plan.functions[0].kernels[0].about);
    Status status = verify(plan);
    return status ? std::string() : status.error().message();
  };
  const std::string start = "function 'decode': the explanation of kernel 'decode_k0' expects ";
  EXPECT_EQ(fault([](KernelAbout &) {}), "");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->kvTile = 0; }),
            start + "counts from 1 to 2^31, got 0");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->kDim = -1; }),
            start + "sizes from 0 to 2^31, got -1");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->rowsArg = 2; }),
            start + "integer arguments for rows and for lens or key_rows");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->symbolArgs = {9}; }),
            start + "integer arguments for symbols and row values, got 9");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->ranges = {"full", "some"}; }),
            start + "ranges that are full, partial or test, got 'some'");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->share = "luck"; }),
            start + "to share items, parts or slices, got 'luck'");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->ranges = {"full"}; }),
            start + "programs of its visit list");
  EXPECT_EQ(fault([](KernelAbout &about) { about.space->visible = "return 9"; }),
            start + "a program of its mask");
  EXPECT_EQ(fault([](KernelAbout &about) { about.traffic = {{5, 1}}; }),
            start + "an argument whose extent counts its bytes, got 5");
}
