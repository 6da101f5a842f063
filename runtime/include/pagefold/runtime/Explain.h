//===- Explain.h - what was compiled, and what a launch does ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The explanation of a function is one structure, JSON, of which the text is a rendering: what the
// artifact says of the compile, and with arguments what a launch with them would do against the
// roofline of the chip. docs/explain.md defines every field. No LLVM is needed for it.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_EXPLAIN_H
#define PAGEFOLD_RUNTIME_EXPLAIN_H

#include "pagefold/runtime/Artifact.h"

#include <dlpack/dlpack.h>
#include <functional>

namespace pagefold::runtime {

/// What a launch is explained from.
struct LaunchFacts {
  /// Inputs, and perhaps results, in the plan's order.
  std::span<const DLTensor *const> args;
  double milliseconds = 0; ///< measured; 0: not
  /// Of the device, where one is at hand: by kernel (or none), and how many.
  std::vector<RegisterUse> registers = {};
  std::optional<int64_t> multiprocessors = {};
  /// Copies bytes of a tensor, wherever it lies, to the host.
  std::function<Status(void *to, const DLTensor &tensor, size_t offset, size_t size)> read;
};

enum class ExplainFormat : uint8_t { Text, Json };
/// InvalidArgument for what is neither "text" nor "json".
Result<ExplainFormat> explainFormatFromName(std::string_view name);

/// Explains `function` of `plan`, and a launch where `launch` is given.
Result<std::string> explainFunction(const Plan &plan, const FunctionPlan &function,
                                    const LaunchFacts *launch, ExplainFormat format);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_EXPLAIN_H
