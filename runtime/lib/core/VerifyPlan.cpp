//===- VerifyPlan.cpp - the rules of a launch plan ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may stand in a plan, whoever wrote it. The launch relies on every rule here: it computes
// addresses from a plan without looking again.
//
//===----------------------------------------------------------------------===//

#include "LaunchWork.h"
#include "PlanRules.h"
#include "pagefold/runtime/Launch.h"

#include <algorithm>
#include <set>

using namespace pagefold::runtime;

namespace {
// Far above any machine, far below what overflows in sums and alignment.
constexpr int64_t kMaxBytes = int64_t(1) << 46;
constexpr int64_t kMaxExtent = int64_t(1) << 46;
constexpr size_t kMaxRank = 16;
constexpr int64_t kMaxAlign = 256; // bytes, to which DLPack aligns

bool isIdentifier(std::string_view text) {
  auto isWord = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), isWord);
}

bool liesInWorkspace(const FunctionPlan &function, int64_t offset, int64_t size) {
  return offset >= 0 && size >= 0 && size <= function.workspaceSize &&
         offset <= function.workspaceSize - size;
}

Status verifyShape(const FunctionPlan &function, const ArgumentPlan &arg) {
  if (arg.shape.size() > kMaxRank)
    return broken(function, "argument '" + arg.name + "' expects a rank of at most " +
                                std::to_string(kMaxRank) + ", got " +
                                std::to_string(arg.shape.size()));
  for (const Extent &extent : arg.shape) {
    if (extent.value < 0 || extent.value > kMaxExtent)
      return broken(function, "argument '" + arg.name + "' expects extents in [0, 2^46], got " +
                                  std::to_string(extent.value));
    if (extent.kind == Extent::Kind::Symbol && !isIdentifier(extent.symbol))
      return broken(function, "argument '" + arg.name +
                                  "' expects a symbol such as 'batch', got '" + extent.symbol +
                                  "'");
  }
  return {};
}

Status verifyArguments(const FunctionPlan &function) {
  std::set<std::string_view> names;
  bool results = false;
  for (const ArgumentPlan &arg : function.args) {
    if (arg.name.empty() || !names.insert(arg.name).second)
      return broken(function, "expects distinct, non-empty argument names, got '" + arg.name + "'");
    if (results && arg.access != Access::Write)
      return broken(function, "expects results after all inputs, got '" + arg.name + "' after one");
    results |= arg.access == Access::Write;
    if (arg.scalar && (!arg.shape.empty() || arg.access != Access::Read))
      return broken(function, "scalar '" + arg.name + "' expects rank 0 and access read");
    if (arg.align < 1 || arg.align > kMaxAlign || (arg.align & (arg.align - 1)))
      return broken(function,
                    "argument '" + arg.name + "' expects to be aligned to a power of two up to " +
                        std::to_string(kMaxAlign) + " bytes, got " + std::to_string(arg.align));
    if (Status status = verifyShape(function, arg); !status)
      return status;
  }
  return {};
}

Status verifyWorkspace(const FunctionPlan &function) {
  if (function.workspaceSize < 0 || function.workspaceSize > kMaxBytes ||
      function.scratchSize < 0 || function.scratchSize > kMaxBytes)
    return broken(function, "expects workspace and scratch in [0, 2^46] bytes, got " +
                                std::to_string(function.workspaceSize) + " and " +
                                std::to_string(function.scratchSize));
  if (function.counters && (!liesInWorkspace(function, *function.counters, sizeof(TileCounters)) ||
                            *function.counters % 8))
    return broken(function, "expects the counters' 64 bytes at a multiple of 8 in a workspace of " +
                                std::to_string(function.workspaceSize) + " bytes, got offset " +
                                std::to_string(*function.counters));
  for (const WorkspaceFill &fill : function.workspaceInit)
    if (!liesInWorkspace(function, fill.offset, fill.size))
      return broken(function, "expects initial bytes inside the workspace of " +
                                  std::to_string(function.workspaceSize) + " bytes, got [" +
                                  std::to_string(fill.offset) + ", + " + std::to_string(fill.size) +
                                  ")");
  return {};
}

/// What only a function of the host has.
Status verifyHost(const FunctionPlan &function) {
  if (!function.errorWord)
    return broken(function, "expects the offset of an error word, got null");
  if (!liesInWorkspace(function, *function.errorWord, sizeof(ErrorWord)) || *function.errorWord % 8)
    return broken(function, "expects the error word's 32 bytes at a multiple of 8 in a workspace "
                            "of " +
                                std::to_string(function.workspaceSize) + " bytes, got offset " +
                                std::to_string(*function.errorWord));
  for (const KernelPlan &kernel : function.kernels)
    if (kernel.cuda)
      return broken(function,
                    "kernel '" + kernel.symbol + "' expects workers on this target, got threads");
  return {};
}

Status verifyFunction(const FunctionPlan &function, bool cuda) {
  if (function.name.empty())
    return fail(ErrorCode::InvalidArgument, "expects a name for every function");
  for (const auto &[name, bound] : function.bounds)
    if (bound < 0)
      return broken(function,
                    "bound '" + name + "' expects at least 0, got " + std::to_string(bound));
  if (Status status = verifyArguments(function); !status)
    return status;
  if (Status status = verifyWorkspace(function); !status)
    return status;
  if (function.kernels.empty())
    return broken(function, "expects at least one kernel");
  for (const KernelPlan &kernel : function.kernels)
    if (!isIdentifier(kernel.symbol))
      return broken(function, "expects a C symbol for each kernel, got '" + kernel.symbol + "'");
  for (const KernelPlan &kernel : function.kernels)
    if (kernel.about)
      if (Status status = verifyAbout(function, kernel); !status)
        return status;
  return cuda ? verifyCuda(function) : verifyHost(function);
}
} // namespace

Status pagefold::runtime::verify(const Plan &plan) {
  if (plan.target.kind.empty())
    return fail(ErrorCode::InvalidArgument, "the plan expects a target kind, 'host' or 'cuda'");
  const bool cuda = plan.target.kind == "cuda";
  if (cuda && !computeCapability(plan.target.cpu))
    return fail(ErrorCode::InvalidArgument,
                "target cuda expects a cpu such as 'sm_90a', got '" + plan.target.cpu + "'");
  if (plan.functions.empty())
    return fail(ErrorCode::InvalidArgument, "the plan expects at least one function");
  std::set<std::string_view> names;
  for (const FunctionPlan &function : plan.functions) {
    if (Status status = verifyFunction(function, cuda); !status)
      return status;
    if (!names.insert(function.name).second)
      return broken(function, "expects distinct function names, got this one twice");
  }
  for (const FunctionPlan &function : plan.functions)
    if (!function.graph.empty() && names.count(function.graph))
      return broken(function, "expects a graph that no function is named as, got '" +
                                  function.graph + "'");
  return {};
}
