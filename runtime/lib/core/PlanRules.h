//===- PlanRules.h - what the rules of a plan share -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_PLANRULES_H
#define PAGEFOLD_RUNTIME_LIB_CORE_PLANRULES_H

#include "pagefold/runtime/Artifact.h"

namespace pagefold::runtime {

/// A rule that a function's plan breaks.
inline tl::unexpected<Error> broken(const FunctionPlan &function, std::string what) {
  return fail(ErrorCode::InvalidArgument, "function '" + function.name + "': " + std::move(what));
}

/// Words of the kernel frame that the arguments take.
int64_t frameWords(const FunctionPlan &function);

/// Size and alignment of a CUDA kernel's parameter, in bytes.
struct ParameterSize {
  int64_t bytes = 0;
  int64_t alignment = 1;
};
ParameterSize parameterSize(const FunctionPlan &function, const ParameterPlan &parameter);

/// A page_map brings panels of 128 bytes of 16-bit elements; their swizzle repeats every 8 rows.
inline constexpr int64_t kPanelElements = 64;
inline constexpr int64_t kSwizzleRows = 8;

/// What "sm_90a" says.
struct ComputeCapability {
  int major = 0, minor = 0;
  bool exact = false; ///< ends with 'a': no later chip runs it
};
std::optional<ComputeCapability> computeCapability(std::string_view cpu);

/// The rules of a GPU's kernels. The arguments and the workspace are right already.
Status verifyCuda(const FunctionPlan &function);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_PLANRULES_H
