//===- Diagnosis.h - what the numbers say, in the order to ask --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order matters: whether a kernel or a page size is worth touching depends on whether time
// goes to prefill or decode, and on whether it goes to the device at all. Every sentence carries
// the number it rests on.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_DIAGNOSIS_H
#define PAGEFOLD_REPORT_DIAGNOSIS_H

#include "Report.h"

#include <string>
#include <vector>

namespace pagefold::report {

struct Finding {
  std::string topic;
  std::string sentence;
};

/// 1 prefill or decode; 2 kernel or KV management; 3 reuse; 4 GQA, adapters, tenants; 5 lever.
std::vector<Finding> diagnose(const Report &report);

/// "saturated by KV capacity: ..." or "keeps up; ...": the first line of a report.
std::string verdict(const Report &report);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_DIAGNOSIS_H
