//===- Compare.h - did a mechanism help, and what did it cost ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_COMPARE_H
#define PAGEFOLD_REPORT_COMPARE_H

#include "pagefold/runtime/Error.h"

#include <nlohmann/json.hpp>
#include <string>

namespace pagefold::report {

/// The text of a comparison of two JSON reports, the second against the first: what was set
/// differently, a table of what came of it, what it helped and what it cost. Fails where one is
/// not a report of this version.
runtime::Result<std::string> compare(const nlohmann::ordered_json &first,
                                     const nlohmann::ordered_json &second);

/// Reads both files and compares them.
runtime::Result<std::string> compareFiles(const std::string &first, const std::string &second);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_COMPARE_H
