//===- Report.cpp - a replay and all that was made of it ------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

namespace pagefold::report {
namespace {

std::string tableSource(const KernelTable &table) {
  return "measured, " + table.name + " (" + std::to_string(table.rows()) + " rows, pages of " +
         std::to_string(table.pageSize) + (table.layout.empty() ? "" : ", " + table.layout) + ")";
}

} // namespace

std::string Report::decodeTimeSource() const {
  if (cost.kernels() && cost.kernels()->hasDecode())
    return tableSource(*cost.kernels());
  return "roofline of " + cost.device().name;
}

std::string Report::prefillTimeSource() const {
  if (cost.kernels() && cost.kernels()->hasPrefill())
    return tableSource(*cost.kernels());
  return "roofline of " + cost.device().name;
}

double Report::computeSaved() const {
  const Model &model = cost.model();
  const Device &device = cost.device();
  double tokens = 0, attention = 0;
  for (const RequestRecord &request : result.requests) {
    tokens += request.hitTokens;
    attention += prefillAttentionFlops(model, request.hitTokens, 0);
  }
  return 2 * tokens * model.linearElements() / device.gemmFlops(model.weights) +
         attention / (device.flops16 * device.attentionEfficiency);
}

Result<Report> makeReport(ReportRequest request) {
  Result<ReplayResult> result = replay(request.trace, request.cost, request.options);
  if (!result)
    return tl::unexpected(result.error());
  Report report{std::move(request.trace),
                request.traceOptions,
                std::move(request.cost),
                std::move(request.options),
                request.levels,
                std::move(*result),
                {},
                {}};
  report.options.poolPages = report.result.pagesThatFit;
  report.metrics = measure(report.trace, report.result, report.levels);
  Result<Levers> levers =
      tryLevers(report.trace, report.cost, report.options, report.levels, request.leverRequests);
  if (!levers)
    return tl::unexpected(levers.error());
  report.levers = std::move(*levers);
  return report;
}

} // namespace pagefold::report
