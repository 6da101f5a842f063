//===- WhatIf.cpp - the same trace, with one thing changed ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WhatIf.h"

#include "Parallel.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace pagefold::report {
namespace {

struct Variant {
  std::string kind, what;
  CostModel cost;
  ReplayOptions options;
};

/// Attention at the device's peak: no kernel can do better.
CostModel withPerfectKernels(const CostModel &cost) {
  Device device = cost.device();
  device.kvEfficiency = device.attentionEfficiency = 1;
  return CostModel(cost.model(), device);
}

CostModel withPageSize(const CostModel &cost, uint32_t pageSize, uint64_t &pages) {
  Model model = cost.model();
  pages = pages * model.pageSize / pageSize; // the same bytes
  model.pageSize = pageSize;
  return cost.with(std::move(model));
}

CostModel withoutOverhead(const CostModel &cost) {
  Device device = cost.device();
  device.overhead = 0;
  return cost.with(std::move(device));
}

/// The first is the replay as it was asked for, with the pages of its pool.
std::vector<Variant> variantsOf(const CostModel &cost, const ReplayOptions &base) {
  const uint64_t pages = base.poolPages;
  std::vector<Variant> variants;
  ReplayOptions options = base;
  options.progress = nullptr;
  options.survey = false;
  auto add = [&](const char *kind, std::string what, CostModel changed, ReplayOptions with) {
    variants.push_back({kind, std::move(what), std::move(changed), std::move(with)});
  };
  add("", "as is", cost, options);
  add("kernel", "attention at the device's peak", withPerfectKernels(cost), options);
  add("overhead", "no time between steps", withoutOverhead(cost), options);
  ReplayOptions other = options;
  uint32_t pageSize =
      cost.model().pageSize <= 64 ? cost.model().pageSize * 4 : cost.model().pageSize / 4;
  CostModel paged = withPageSize(cost, pageSize, other.poolPages);
  add("page size", "pages of " + std::to_string(pageSize) + " tokens", std::move(paged), other);
  other = options;
  other.poolPages = pages * 2;
  add("capacity", "twice the pages", cost, other);
  other = options;
  other.scheduler.tokenBudget = std::max(options.scheduler.tokenBudget / 4, 1);
  if (options.scheduler.chunkedPrefill)
    add("scheduling",
        "a budget of " + std::to_string(other.scheduler.tokenBudget) + " tokens a step", cost,
        other);
  other = options;
  other.scheduler.watermark = options.scheduler.watermark > 0 ? 0 : 0.02;
  add("scheduling", other.scheduler.watermark > 0 ? "a watermark of 2 %" : "no watermark", cost,
      other);
  other = options;
  other.prefixCaching = !options.prefixCaching;
  add("cache", other.prefixCaching ? "prefix caching on" : "prefix caching off", cost, other);
  return variants;
}

Lever leverOf(const Variant &variant, const Metrics &metrics) {
  Lever lever;
  lever.kind = variant.kind;
  lever.what = variant.what;
  lever.endToEnd = metrics.endToEnd.mean;
  lever.ttft = metrics.ttft.mean;
  lever.tpot = metrics.tpot.mean;
  lever.outputThroughput = metrics.outputThroughput;
  lever.goodput = metrics.goodput;
  return lever;
}

} // namespace

Result<Levers> tryLevers(const Trace &trace, const CostModel &cost, const ReplayOptions &options,
                         const ServiceLevels &levels, size_t requests) {
  Levers levers;
  levers.requests = std::min(requests, trace.requests.size());
  if (levers.requests == 0)
    return levers;
  Trace head = trace;
  head.requests.resize(levers.requests);
  std::vector<Variant> variants = variantsOf(cost, options);
  std::vector<std::optional<Result<Lever>>> tried(variants.size());
  runParallel(variants.size(), [&](size_t i) {
    Result<ReplayResult> result = replay(head, variants[i].cost, variants[i].options);
    tried[i] = result ? Result<Lever>(leverOf(variants[i], measure(head, *result, levels)))
                      : tl::unexpected(result.error());
  });
  if (!*tried.front())
    return tl::unexpected(tried.front()->error());
  levers.base = **tried.front();
  for (size_t i = 1; i < tried.size(); ++i) {
    if (!*tried[i])
      continue;
    levers.tried.push_back(**tried[i]);
    levers.tried.back().endToEndChange = levers.tried.back().endToEnd / levers.base.endToEnd - 1;
  }
  std::sort(levers.tried.begin(), levers.tried.end(), [](const Lever &a, const Lever &b) {
    return std::tie(a.endToEndChange, a.what) < std::tie(b.endToEndChange, b.what);
  });
  return levers;
}

std::vector<GroupRow> groupTable(const CostModel &cost, const ReplayResult &result) {
  const Model &model = cost.model();
  const TimeSpent &time = result.time;
  std::vector<GroupRow> rows;
  double poolBytes = double(result.pagesThatFit) * model.pageSize * model.kvBytesPerToken();
  for (uint32_t kvHeads = 1; kvHeads <= model.queryHeads; ++kvHeads) {
    // Powers of two, and the model's own.
    bool isPowerOfTwo = (kvHeads & (kvHeads - 1)) == 0;
    if (model.queryHeads % kvHeads || !(isPowerOfTwo || kvHeads == model.kvHeads))
      continue;
    Model other = model.withKvHeads(kvHeads);
    double cacheRatio = double(kvHeads) / model.kvHeads;
    double weightRatio = other.linearElements() / model.linearElements();
    double prefillRead = time.prefillAttention - time.prefillAttentionCompute;
    GroupRow row;
    row.kvHeads = kvHeads;
    row.group = model.queryHeads / kvHeads;
    row.kvBytesPerToken = other.kvBytesPerToken();
    row.poolTokens = poolBytes / row.kvBytesPerToken;
    row.decodeAttention = time.decodeAttention * cacheRatio;
    double busy = time.busy + (time.decodeAttention + prefillRead) * (cacheRatio - 1) +
                  (time.prefillLinear + time.decodeLinear) * (weightRatio - 1);
    row.meanStep = result.steps.steps ? busy / result.steps.steps : 0;
    rows.push_back(row);
  }
  return rows;
}

std::vector<LayoutRow> layoutTable(const CostModel &cost, const ReplayResult &result) {
  const Model &model = cost.model();
  double headBytes = model.headDim * bytesOf(model.kv);
  std::vector<LayoutRow> rows;
  for (const char *layout : {"nhd", "hnd"}) {
    LayoutRow row;
    row.layout = layout;
    row.contiguousBytes = row.layout == "hnd" ? headBytes * model.pageSize : headBytes;
    row.boxesPerTile = result.survey->boxesPerTile();
    row.measured = cost.kernels() && cost.kernels()->layout == layout;
    rows.push_back(row);
  }
  return rows;
}

} // namespace pagefold::report
