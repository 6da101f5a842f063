//===- Report.h - a replay and all that was made of it ----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REPORT_H
#define PAGEFOLD_REPORT_REPORT_H

#include "WhatIf.h"

#include <string>
#include <vector>

namespace pagefold::report {

/// What the text, JSON and HTML writers print.
struct Report {
  Trace trace;
  TraceOptions traceOptions;
  CostModel cost;
  ReplayOptions options; ///< with the pages of the pool filled in
  ServiceLevels levels;
  ReplayResult result;
  Metrics metrics;
  Levers levers;

  /// Where the times of attention come from: "roofline of H200", or a table and its rows.
  std::string decodeTimeSource() const;
  std::string prefillTimeSource() const;
  /// Seconds that the device would have worked more without the reused tokens: products over
  /// them and attention among them. Attention of later tokens over them is paid anyway.
  double computeSaved() const;
};

struct ReportRequest {
  Trace trace;
  TraceOptions traceOptions;
  CostModel cost;
  ReplayOptions options;
  ServiceLevels levels;
  size_t leverRequests = 1000; ///< that levers are tried on; 0: none are
};

Result<Report> makeReport(ReportRequest request);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REPORT_H
