//===- VerifyAbout.cpp - the rules of what explains a kernel --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchWork.h"
#include "PlanRules.h"
#include "WorkProgram.h"

using namespace pagefold::runtime;

namespace {
bool isArgument(const FunctionPlan &function, int64_t arg) {
  return arg >= 0 && arg < static_cast<int64_t>(function.args.size());
}

bool isNumbers(const FunctionPlan &function, int64_t arg) {
  if (!isArgument(function, arg))
    return false;
  const ArgumentPlan &plan = function.args[static_cast<size_t>(arg)];
  return (plan.dtype == DType::I32 || plan.dtype == DType::I64) && plan.shape.size() <= 1 &&
         plan.access != Access::Write;
}

bool isProgram(const std::string &text, size_t inputs, size_t results) {
  std::optional<WorkProgram> program = WorkProgram::parse(text, inputs);
  return program && program->results() == results;
}

/// What is wrong; empty where nothing is.
std::string faultOf(const FunctionPlan &function, const SpacePlan &space) {
  constexpr int64_t kMost = int64_t(1) << 31;
  for (int64_t number : {space.kvHeads, space.group, space.qTile, space.kvTile, space.splits,
                         space.rowUnit, space.workers})
    if (number < 1 || number > kMost)
      return "counts from 1 to 2^31, got " + std::to_string(number);
  for (int64_t number : {space.kDim, space.vDim, space.kvRowBytes, space.queryRowBytes,
                         space.outputRowBytes, space.pageSize, space.groupRows})
    if (number < 0 || number > kMost)
      return "sizes from 0 to 2^31, got " + std::to_string(number);
  if (!isNumbers(function, space.rowsArg) ||
      !isNumbers(function, space.lensArg >= 0 ? space.lensArg : space.keyRowsArg))
    return "integer arguments for rows and for lens or key_rows";
  for (const std::vector<int64_t> &args : {space.symbolArgs, space.rowValueArgs})
    for (int64_t arg : args)
      if (!isNumbers(function, arg))
        return "integer arguments for symbols and row values, got " + std::to_string(arg);
  size_t rows = space.rowValueArgs.size(), inputs = 4 + 2 * rows + space.symbolArgs.size();
  if (space.share != "items" && space.share != "parts" && space.share != "slices")
    return "to share items, parts or slices, got '" + space.share + "'";
  for (const std::string &range : space.ranges)
    if (range != "full" && range != "partial" && range != "test")
      return "ranges that are full, partial or test, got '" + range + "'";
  if (!space.visits.empty() && (!isProgram(space.visits, inputs, 2 * space.ranges.size()) ||
                                !isProgram(space.test, inputs + 1, 2)))
    return "programs of its visit list";
  if (!space.visible.empty() && !isProgram(space.visible, inputs - rows, 1))
    return "a program of its mask";
  return {};
}
} // namespace

Status pagefold::runtime::verifyAbout(const FunctionPlan &function, const KernelPlan &kernel) {
  std::string fault;
  for (const TrafficPlan &traffic : kernel.about->traffic)
    if (traffic.arg != -1 && !isArgument(function, traffic.arg))
      fault = "an argument whose extent counts its bytes, got " + std::to_string(traffic.arg);
  if (kernel.about->space && fault.empty())
    fault = faultOf(function, *kernel.about->space);
  if (fault.empty())
    return {};
  return broken(function, "the explanation of kernel '" + kernel.symbol + "' expects " + fault);
}
