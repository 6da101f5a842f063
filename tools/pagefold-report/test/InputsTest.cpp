//===- InputsTest.cpp - model, device and kernel files --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"
#include "Synthetic.h"

#include <cmath>

using namespace pagefold::report;
using namespace pagefold::report::test;

namespace {

std::string exampleModel(const char *name) {
  return std::string(PAGEFOLD_SOURCE) + "/examples/models/" + name;
}

TEST(Model, CountsLlama8BWeights) {
  Model model = expectValue(readModel(exampleModel("llama-3-8b.json")));
  EXPECT_NEAR(model.linearElements(), 6.979e9, 0.001e9);
  EXPECT_NEAR(model.lmHeadElements(), 0.525e9, 0.001e9);
  EXPECT_EQ(model.kvBytesPerToken(), 131072);
  EXPECT_EQ(model.pageSize, 16u);
}

TEST(Model, ReadsTypesAndDefaults) {
  Model fp8 = expectValue(readModel(exampleModel("llama-3-8b-fp8.json")));
  EXPECT_EQ(fp8.weights, DType::FP8);
  EXPECT_EQ(fp8.kvBytesPerToken(), 65536);
  Model qwen = expectValue(readModel(exampleModel("qwen2.5-7b.json")));
  EXPECT_EQ(qwen.headDim, 128u); // hidden / heads
  EXPECT_EQ(qwen.queryHeads / qwen.kvHeads, 7u);
}

TEST(Model, RefusesWhatItCannotPrice) {
  auto message = [](const char *text) {
    auto model = parseModel(text, "m.json");
    return model ? std::string() : model.error().message();
  };
  EXPECT_EQ(message("[1]"), "m.json: expects a JSON object, got array");
  EXPECT_EQ(message("{"), "m.json: expects a JSON object, got text that is not JSON");
  EXPECT_EQ(message("{}"), "m.json: expects a whole number from 1 \"num_hidden_layers\", got none");
  std::string shape = R"({"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 33, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100)";
  EXPECT_NE(message((shape + "}").c_str()).find("multiple of num_key_value_heads, got 33 and 2"),
            std::string::npos); // A14
  shape.replace(shape.find("33"), 2, "4");
  EXPECT_NE(
      message((shape + R"(, "num_local_experts": 8})").c_str()).find("expects a dense decoder"),
      std::string::npos);
  EXPECT_NE(message((shape + R"(, "torch_dtype": "int4"})").c_str()).find("got \"int4\""),
            std::string::npos);
  EXPECT_NE(message((shape + R"(, "pagefold": {"page_size": 4096}})").c_str())
                .find("expects a page size from 1 to 1024 tokens, got 4096"),
            std::string::npos);
  EXPECT_NE(
      message((shape + R"(, "pagefold": 3})").c_str()).find("expects \"pagefold\" to be an object"),
      std::string::npos);
}

TEST(Device, ReadsFilesAndNames) {
  Device device = expectValue(parseDevice(
      R"({"name": "X", "peak_tflops": 100, "bandwidth_tb_s": 1, "memory_gb": 10, "overhead_ms": 3})",
      "x.json"));
  EXPECT_EQ(device.flops16, 100e12);
  EXPECT_EQ(device.flops8, 100e12);
  EXPECT_NEAR(device.overhead, 0.003, 1e-12);
  EXPECT_EQ(expectValue(readDevice("H200")).bandwidth, 4.8e12);
  auto wrong = parseDevice(
      R"({"peak_tflops": 1, "bandwidth_tb_s": 1, "memory_gb": 1, "kv_efficiency": 2})", "x.json");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("expects \"kv_efficiency\" from 0 to 1"),
            std::string::npos);
}

TEST(Device, PagesFillWhatWeightsLeave) {
  Model model = expectValue(readModel(exampleModel("llama-3-8b.json")));
  Device device = expectValue(readDevice("H200"));
  double room = device.memory * 0.9 - 2e9 - model.weightBytes();
  EXPECT_EQ(device.pagesFor(model), uint64_t(room / (16 * 131072)));
  device.memory = 10e9;
  EXPECT_EQ(device.pagesFor(model), 0u);
}

constexpr const char *tableHead =
    R"({"format": "pagefold-kernel-times", "version": 1, "query_heads": 32,
  "kv_heads": 8, "head_dim": 128, "kv_dtype": "bfloat16", "page_size": 16, "layout": "nhd", )";

Result<KernelTable> parseTable(const std::string &rows) {
  Model model = expectValue(readModel(exampleModel("llama-3-8b.json")));
  return parseKernelTable(tableHead + rows + "}", "k.json", model, *readDevice("H200"));
}

TEST(KernelTable, GivesBackItsRowsAndInterpolatesBetween) {
  // 32 x 8192 tokens of 4096 bytes a layer are 1.0737 GB, 223.7 us at 4.8 TB/s.
  KernelTable table = expectValue(parseTable(
      R"("decode": [{"batch": 32, "context": 8192, "ms": 0.2796}, {"batch": 8, "context": 8192, "ms": 0.1118}])"));
  EXPECT_NEAR(table.decodeEfficiency(32, 8192), 0.80, 0.001);
  EXPECT_NEAR(table.decodeEfficiency(8, 8192), 0.50, 0.001);
  EXPECT_NEAR(table.decodeEfficiency(16, 8192), 0.65, 0.001); // halfway in log2
  EXPECT_GT(table.decodeEfficiency(64, 8192), 0.75);          // outside: the nearest counts most
  EXPECT_FALSE(table.hasPrefill());
}

TEST(KernelTable, PricesAStepByTheTable) {
  Model model = expectValue(readModel(exampleModel("llama-3-8b.json")));
  KernelTable table =
      expectValue(parseTable(R"("decode": [{"batch": 32, "context": 8192, "ms": 0.2796}],
    "prefill": [{"new_tokens": 1024, "context": 0, "ms": 0.03}])"));
  CostModel cost(model, *readDevice("H200"), table);
  StepShape shape;
  shape.decodes = 32;
  shape.decodeContext = 32 * 8192;
  shape.prefills = {{1024, 0}};
  EXPECT_NEAR(cost.price(shape).decodeAttention, 32 * 0.2796e-3, 1e-6);
  EXPECT_NEAR(cost.price(shape).prefillAttention, 32 * 0.03e-3, 1e-6);
}

TEST(KernelTable, RefusesOtherShapesAndImpossibleTimes) {
  auto message = [](const std::string &rows) {
    auto table = parseTable(rows);
    return table ? std::string() : table.error().message();
  };
  EXPECT_NE(message(R"("decode": [{"batch": 32, "context": 8192, "ms": 0.1}])")
                .find("no shorter than the device's roofline"),
            std::string::npos);
  EXPECT_NE(message(R"("decode": [{"batch": 32, "ms": 1}])")
                .find("k.json: decode[0]: expects a whole number from 1 \"context\""),
            std::string::npos);
  EXPECT_NE(message(R"("decode": [])").find("expects rows"), std::string::npos);
  EXPECT_NE(message(R"("decode": 3)").find("expects"), std::string::npos);
  Model qwen = expectValue(readModel(exampleModel("qwen2.5-7b.json")));
  auto other = parseKernelTable(std::string(tableHead) + "\"decode\": []}", "k.json", qwen,
                                *readDevice("H200"));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("expects \"query_heads\" to be the model's 28, got 32"),
            std::string::npos);
}

} // namespace
