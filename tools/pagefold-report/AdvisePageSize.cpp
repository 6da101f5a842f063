//===- AdvisePageSize.cpp - what each page size costs, and which to take --===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisePageSize.h"

#include "Format.h"
#include "HitRates.h"
#include "Parallel.h"
#include "TextTable.h"

#include <algorithm>
#include <optional>

namespace pagefold::report {
namespace {

constexpr double tolerance = 0.01;

const CostModel &costFor(const std::vector<CostModel> &costs, uint32_t pageSize, bool &measured) {
  for (const CostModel &cost : costs)
    if (cost.kernels() && cost.kernels()->pageSize == pageSize) {
      measured = true;
      return cost;
    }
  return costs.front();
}

/// Of prompt tokens: those of shared prefixes that do not fill a page.
double lostReuse(const Trace &trace, uint32_t pageSize) {
  uint64_t lost = 0;
  for (uint32_t hit : infiniteCacheHits(trace))
    lost += hit % pageSize;
  return double(lost) / double(trace.promptTokens());
}

/// The pages of a size in the memory asked for; none where that is left to the device.
std::optional<uint64_t> pagesOf(const Model &model, const ReplayOptions &options,
                                uint32_t pageSize) {
  uint64_t pages = options.poolPages ? options.poolPages : model.poolPages;
  if (pages == 0)
    return std::nullopt;
  return pages * model.pageSize / pageSize;
}

Result<PageSizeRow> rowFor(const Trace &trace, const std::vector<CostModel> &costs,
                           const ReplayOptions &options, uint32_t pageSize) {
  PageSizeRow row;
  row.pageSize = pageSize;
  const CostModel &cost = costFor(costs, pageSize, row.measured);
  Model model = cost.model();
  ReplayOptions sized = options;
  sized.progress = nullptr;
  sized.poolPages = pagesOf(model, options, pageSize).value_or(0);
  model.poolPages = 0;
  model.pageSize = pageSize;
  Result<ReplayResult> result = replay(trace, cost.with(model), sized);
  if (!result)
    return tl::unexpected(result.error());
  Metrics metrics = measure(trace, *result, {});
  row.tailWaste = finalTailWaste(trace, pageSize);
  row.fragmentation = metrics.pool.fragmentation;
  row.tableEntries = result->survey->maxTablePages();
  row.lostReuse = trace.hasSpans ? lostReuse(trace, pageSize) : 0;
  row.oneBoxShare = result->survey->oneBoxShare();
  row.boxesPerTile = result->survey->boxesPerTile();
  row.meanStep = result->steps.steps ? result->time.busy / double(result->steps.steps) : 0;
  row.endToEnd = metrics.endToEnd.mean;
  row.outputThroughput = metrics.outputThroughput;
  row.rejected = metrics.rejected;
  return row;
}

void recommend(PageSizeAdvice &advice) {
  double best = advice.rows.front().endToEnd, least = advice.rows.front().loss();
  size_t fewest = advice.rows.front().rejected;
  for (const PageSizeRow &row : advice.rows) {
    best = std::min(best, row.endToEnd);
    least = std::min(least, row.loss());
    fewest = std::min(fewest, row.rejected);
  }
  auto isGood = [&](const PageSizeRow &row) {
    return row.pageSize <= PageSurvey::tileTokens && row.rejected == fewest &&
           row.endToEnd <= best * (1 + tolerance) && row.loss() <= least + tolerance;
  };
  const PageSizeRow *chosen = nullptr, *next = nullptr;
  for (const PageSizeRow &row : advice.rows)
    if (isGood(row))
      chosen = &row;
  if (!chosen) // no size is good in both: time decides
    chosen = &*std::min_element(
        advice.rows.begin(), advice.rows.end(),
        [](const PageSizeRow &a, const PageSizeRow &b) { return a.endToEnd < b.endToEnd; });
  if (chosen != &advice.rows.back())
    next = chosen + 1;
  advice.recommended = chosen->pageSize;
  advice.reason = "the largest page size up to a tile of " +
                  std::to_string(PageSurvey::tileTokens) +
                  " tokens that stays within 1 % of the best mean end-to-end time (" +
                  duration(chosen->endToEnd) + " against " + duration(best) +
                  ") and loses at most 1 % more memory and reuse than the best (" +
                  percent(chosen->loss(), 2) + " against " + percent(least, 2) + ")";
  if (next)
    advice.reason += "; pages of " + std::to_string(next->pageSize) + " lose " +
                     percent(next->loss(), 2) + " and take " + duration(next->endToEnd);
}

} // namespace

Result<PageSizeAdvice> advisePageSize(const Trace &trace, const std::vector<CostModel> &costs,
                                      const ReplayOptions &options) {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 1; size <= 512; size *= 2)
    if (pagesOf(costs.front().model(), options, size).value_or(1) > 0)
      sizes.push_back(size);
  std::vector<std::optional<Result<PageSizeRow>>> rows(sizes.size());
  runParallel(sizes.size(), [&](size_t i) { rows[i] = rowFor(trace, costs, options, sizes[i]); });
  PageSizeAdvice advice;
  for (std::optional<Result<PageSizeRow>> &row : rows) {
    if (!*row)
      return tl::unexpected(row->error());
    advice.rows.push_back(std::move(**row));
  }
  recommend(advice);
  return advice;
}

std::string toText(const PageSizeAdvice &advice, const Trace &trace) {
  TextTable table({"page size", "tail waste", "live waste", "lost reuse", "table", "one box",
                   "boxes/tile", "mean step", "end to end", "output tok/s", "time from"});
  for (const PageSizeRow &row : advice.rows)
    table.add({std::to_string(row.pageSize) + (row.pageSize == advice.recommended ? " <-" : ""),
               percent(row.tailWaste, 2), percent(row.fragmentation, 2),
               trace.hasSpans ? percent(row.lostReuse, 2) : "n/a",
               bytes(double(row.tableEntries) * 4), percent(row.oneBoxShare),
               fixed(row.boxesPerTile, 2), duration(row.meanStep), duration(row.endToEnd),
               grouped(row.outputThroughput), row.measured ? "table" : "model"});
  std::string out = table.text(0) + "\nPages of " + std::to_string(advice.recommended) + ": " +
                    advice.reason + ".\n";
  if (trace.hasSpans)
    out +=
        "Lost reuse counts shared prefixes that do not fill a page; what is shared in less than " +
        std::to_string(trace.spanTokens) + " tokens is not in this trace.\n";
  out += "Time from the model: attention takes the same time at every page size; give --kernels a "
         "table "
         "measured at a page size to price it.\n";
  return out;
}

} // namespace pagefold::report
