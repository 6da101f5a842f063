//===- ReportJson.h - the report for programs -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Latencies and throughputs carry the names of vLLM's benchmark, milliseconds and tokens a second;
// "prometheus" holds what a server's /metrics would say at the end, by vLLM's names without their
// prefix. docs/report.md lists every key.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REPORTJSON_H
#define PAGEFOLD_REPORT_REPORTJSON_H

#include "Report.h"

#include <nlohmann/json.hpp>

namespace pagefold::report {

inline constexpr int jsonVersion = 1;

/// Keys keep their order, so that two reports can be compared by eye.
nlohmann::ordered_json toJson(const Report &report);

/// Text exposition format, one gauge or counter a line, with HELP and TYPE.
std::string toPrometheus(const Report &report);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REPORTJSON_H
