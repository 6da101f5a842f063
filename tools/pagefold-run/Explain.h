//===- Explain.h - a launch plan for people ---------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXPLAIN_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXPLAIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace pagefold::run {

/// Prints the plan that the runtime holds for a function: arguments and results, bounds, kernels in
/// order, workspace. What it does not know it prints as JSON.
void printPlan(llvm::StringRef planJson, llvm::raw_ostream &out);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_EXPLAIN_H
