//===- ReportHtml.h - the report for a browser ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_REPORTHTML_H
#define PAGEFOLD_REPORT_REPORTHTML_H

#include "Report.h"

#include <string>

namespace pagefold::report {

/// One file that needs no other and no network: the numbers of the text page, and plots.
std::string toHtml(const Report &report);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_REPORTHTML_H
