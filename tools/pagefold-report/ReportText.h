//===- ReportText.h - the report for a terminal -----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REPORTTEXT_H
#define PAGEFOLD_REPORT_REPORTTEXT_H

#include "Report.h"

#include <string>

namespace pagefold::report {

/// One page, at most 110 columns, without escape codes: what docs/report.md explains top to bottom.
std::string toText(const Report &report);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REPORTTEXT_H
