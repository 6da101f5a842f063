//===- CostModelCheck.cpp - the cost model against published figures ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModelCheck.h"

#include "Format.h"
#include "Metrics.h"
#include "Parallel.h"
#include "TextTable.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pagefold::report {
namespace {

struct Case {
  CostCheck check;
  CostModel cost;
  ReplayOptions options;
  uint32_t requests, promptTokens, outputTokens;
};

Model llama8B(DType weights, DType kv) {
  Model model;
  model.name = "Llama-3-8B";
  model.layers = 32;
  model.hidden = 4096;
  model.intermediate = 14336;
  model.queryHeads = 32;
  model.kvHeads = 8;
  model.headDim = 128;
  model.vocabulary = 128256;
  model.weights = weights;
  model.kv = kv;
  return model;
}

Device known(const char *name) {
  for (const Device &device : knownDevices())
    if (device.name == name)
      return device;
  return {};
}

/// vLLM's latency benchmark: one batch of 8, 32 prompt tokens, 128 new ones, bf16. Its eager
/// kernels read weights at less than the data sheet's bandwidth: e_w .74 fits all three devices.
std::vector<Case> latencyCases() {
  struct Published {
    const char *device;
    double milliseconds;
  };
  std::vector<Case> cases;
  for (Published row : {Published{"A100", 1579}, {"H100", 997.5}, {"H200", 834}}) {
    Device device = known(row.device);
    device.weightEfficiency = 0.74;
    device.overhead = 0.002;
    cases.push_back({{"vLLM latency", std::string(row.device) + ", bf16, batch 8, 32 -> 128", "ms",
                      row.milliseconds},
                     CostModel(llama8B(DType::BF16, DType::BF16), device),
                     {},
                     8,
                     32,
                     128});
  }
  return cases;
}

/// TensorRT-LLM admits a request only when its prompt and all of its output fit: so many at once.
int32_t withoutEviction(const Model &model, const Device &device, uint32_t tokens) {
  uint64_t pagesEach = (tokens + model.pageSize - 1) / model.pageSize;
  return int32_t(std::min<uint64_t>(device.pagesFor(model) / pagesEach, 1024));
}

/// TensorRT-LLM's throughput benchmark on one H200: all requests at once, weights and KV in fp8.
std::vector<Case> throughputCases() {
  struct Published {
    uint32_t promptTokens, outputTokens, requests;
    double tokensPerSecond;
  };
  std::vector<Case> cases;
  for (Published row : {Published{128, 128, 30000, 27911},
                        {1000, 1000, 3000, 17744},
                        {2048, 128, 3000, 3538},
                        {2048, 2048, 1500, 12194},
                        {5000, 500, 1500, 3902},
                        {20000, 2000, 1000, 1804}}) {
    Model model = llama8B(DType::FP8, DType::FP8);
    Device device = known("H200");
    device.overhead = 0.005;
    device.memoryFraction = 0.95; // what that benchmark leaves to the cache
    ReplayOptions options;
    options.prefixCaching = false;
    options.survey = false;
    options.scheduler.maxRunning =
        withoutEviction(model, device, row.promptTokens + row.outputTokens);
    cases.push_back({{"TensorRT-LLM throughput",
                      "H200, fp8, " + std::to_string(row.promptTokens) + " -> " +
                          std::to_string(row.outputTokens),
                      "tokens/s", row.tokensPerSecond},
                     CostModel(model, device),
                     options,
                     row.requests,
                     row.promptTokens,
                     row.outputTokens});
  }
  return cases;
}

/// All requests at once, nothing shared.
Trace burst(uint32_t requests, uint32_t promptTokens, uint32_t outputTokens) {
  Trace trace;
  trace.name = "burst";
  trace.tenants = trace.adapters = {""};
  TraceRequest request;
  request.promptTokens = promptTokens;
  request.outputTokens = outputTokens;
  trace.requests.assign(requests, request);
  return trace;
}

Result<double> predict(const Case &each) {
  Trace trace = burst(each.requests, each.promptTokens, each.outputTokens);
  Result<ReplayResult> result = replay(trace, each.cost, each.options);
  if (!result)
    return tl::unexpected(result.error());
  if (each.check.unit == "ms")
    return result->makespan * 1e3;
  return double(trace.outputTokens()) / result->makespan;
}

} // namespace

Result<CostCheckSummary> checkCostModel() {
  std::vector<Case> cases = latencyCases();
  for (Case &each : throughputCases())
    cases.push_back(std::move(each));
  std::vector<std::optional<Result<double>>> predictions(cases.size());
  runParallel(cases.size(), [&](size_t i) { predictions[i] = predict(cases[i]); });
  CostCheckSummary summary;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!*predictions[i])
      return tl::unexpected(predictions[i]->error());
    summary.checks.push_back(cases[i].check);
    CostCheck &check = summary.checks.back();
    check.predicted = **predictions[i];
    summary.meanError += std::fabs(check.error()) / double(cases.size());
    summary.worstError = std::max(summary.worstError, std::fabs(check.error()));
  }
  return summary;
}

std::string toText(const CostCheckSummary &summary) {
  TextTable table({"published by", "case", "published", "predicted", "error"});
  for (const CostCheck &check : summary.checks)
    table.add({check.source, check.what, grouped(check.published) + " " + check.unit,
               grouped(check.predicted) + " " + check.unit, signedPercent(check.error())});
  return table.text(0) + "\nmean error " + percent(summary.meanError) + " (at most 5 %), worst " +
         percent(summary.worstError) +
         " (at most 15 %): " + (summary.holds() ? "holds" : "DOES NOT HOLD") + "\n";
}

} // namespace pagefold::report
