//===- CostModelCheck.h - the cost model against published figures -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model is worth what it predicts of numbers it was not made from. Each case is served
// by the replay, as a benchmark would send it, and compared with what others measured.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_COSTMODELCHECK_H
#define PAGEFOLD_REPORT_COSTMODELCHECK_H

#include "Trace.h"

#include <string>
#include <vector>

namespace pagefold::report {

struct CostCheck {
  std::string source; ///< "vLLM latency", "TensorRT-LLM throughput"
  std::string what;   ///< "H200, 8 requests, 32 -> 128"
  std::string unit;
  double published = 0, predicted = 0;
  double error() const { return predicted / published - 1; } ///< relative
};

struct CostCheckSummary {
  std::vector<CostCheck> checks;
  double meanError = 0, worstError = 0; ///< of absolute values
  /// The bounds we hold ourselves to: 5 % on average, 15 % at the worst.
  bool holds() const { return meanError <= 0.05 && worstError <= 0.15; }
};

/// Llama-3-8B: latency of one batch on three devices, and greatest throughput on H200 in fp8.
Result<CostCheckSummary> checkCostModel();

std::string toText(const CostCheckSummary &summary);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_COSTMODELCHECK_H
