//===- VerifyCuda.cpp - the rules of a GPU's kernels ----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanRules.h"
#include "pagefold/runtime/Launch.h"

#include <algorithm>
#include <charconv>
#include <limits>

using namespace pagefold::runtime;

std::optional<ComputeCapability> pagefold::runtime::computeCapability(std::string_view cpu) {
  // sm_, the major number, one digit of minor, and 'a' where the code runs on this chip alone.
  if (!cpu.starts_with("sm_"))
    return std::nullopt;
  cpu.remove_prefix(3);
  bool exact = cpu.ends_with('a');
  if (exact)
    cpu.remove_suffix(1);
  int number = 0;
  auto [end, code] = std::from_chars(cpu.data(), cpu.data() + cpu.size(), number);
  if (code != std::errc() || end != cpu.data() + cpu.size() || number < 10 || number > 999)
    return std::nullopt;
  return ComputeCapability{number / 10, number % 10, exact};
}

namespace {
using Kind = ParameterPlan::Kind;

constexpr int64_t kMaxThreads = 1024; // of a CTA, on every chip
constexpr int64_t kMaxShared = int64_t(1)
                               << 20; // more than any chip; its own limit is the launch's
constexpr int64_t kMaxCtas = INT32_MAX;
constexpr int64_t kMaxCtasPerSm = 64;
constexpr size_t kMaxMapRank = 5;
constexpr int64_t kMaxBox = 256;         // elements
constexpr int64_t kUnit = 16;            // bytes, of what a tensor map addresses
constexpr int64_t kMaxParameters = 4096; // bytes of all of a kernel's parameters

/// One kernel being checked.
class Rules {
public:
  Rules(const FunctionPlan &function, const KernelPlan &kernel)
      : function_(function), kernel_(kernel), cuda_(*kernel.cuda) {}

  Status verify() const {
    if (Status status = verifyGrid(); !status)
      return status;
    int64_t bytes = 0;
    for (size_t i = 0; i < cuda_.params.size(); ++i) {
      if (Status status = verifyParameter(i); !status)
        return status;
      ParameterSize size = parameterSize(function_, cuda_.params[i]);
      bytes = (bytes + size.alignment - 1) / size.alignment * size.alignment + size.bytes;
    }
    if (bytes > kMaxParameters)
      return refuse("at most 4096 bytes of parameters, got " + std::to_string(bytes));
    return {};
  }

private:
  tl::unexpected<Error> refuse(const std::string &what) const {
    return broken(function_, "kernel '" + kernel_.symbol + "' expects " + what);
  }
  tl::unexpected<Error> refuse(size_t parameter, const std::string &what) const {
    return broken(function_, "kernel '" + kernel_.symbol + "', parameter " +
                                 std::to_string(parameter) + ": expects " + what);
  }

  Status verifyGrid() const {
    if (cuda_.threads < 1 || cuda_.threads > kMaxThreads)
      return refuse("1 to 1024 threads, got " + std::to_string(cuda_.threads));
    if (cuda_.shared < 0 || cuda_.shared > kMaxShared)
      return refuse("0 to 2^20 bytes of shared memory, got " + std::to_string(cuda_.shared));
    if ((cuda_.ctas == 0) == (cuda_.ctasPerSm == 0))
      return refuse("either ctas or ctas_per_sm, got " + std::to_string(cuda_.ctas) + " and " +
                    std::to_string(cuda_.ctasPerSm));
    if (cuda_.ctas < 0 || cuda_.ctas > kMaxCtas || cuda_.ctasPerSm < 0 ||
        cuda_.ctasPerSm > kMaxCtasPerSm)
      return refuse("up to 2^31 - 1 ctas or 64 ctas_per_sm, got " + std::to_string(cuda_.ctas) +
                    " and " + std::to_string(cuda_.ctasPerSm));
    return {};
  }

  Status verifyParameter(size_t i) const {
    const ParameterPlan &parameter = cuda_.params[i];
    switch (parameter.kind) {
    case Kind::ErrorWord:
    case Kind::Frame:
      return {};
    case Kind::Workspace:
      if (parameter.offset < 0 || parameter.offset > function_.workspaceSize)
        return refuse(i, "an offset in the workspace of " +
                             std::to_string(function_.workspaceSize) + " bytes, got " +
                             std::to_string(parameter.offset));
      return {};
    case Kind::Constant:
      if (parameter.bits < 0 || parameter.bits > std::numeric_limits<uint32_t>::max())
        return refuse(i, "bits of 4 bytes, got " + std::to_string(parameter.bits));
      return {};
    default:
      break;
    }
    if (parameter.arg < 0 || parameter.arg >= static_cast<int64_t>(function_.args.size()))
      return refuse(i, "one of " + std::to_string(function_.args.size()) + " arguments, got " +
                           std::to_string(parameter.arg));
    const ArgumentPlan &arg = function_.args[static_cast<size_t>(parameter.arg)];
    bool scalar = parameter.kind == Kind::Scalar;
    if (arg.scalar != scalar)
      return refuse(i, std::string(scalar ? "a scalar" : "a tensor") + " as argument, got '" +
                           arg.name + "'");
    if (parameter.kind == Kind::Map)
      return verifyMap(i, parameter, arg);
    if (parameter.kind == Kind::PageMap)
      return verifyPageMap(i, parameter, arg);
    if (parameter.kind == Kind::PageStep)
      return verifyPages(i, parameter, arg);
    if (parameter.kind == Kind::Extent || parameter.kind == Kind::Stride)
      return verifyDimension(i, parameter.dim, arg);
    return {};
  }

  Status verifyDimension(size_t i, int64_t dim, const ArgumentPlan &arg) const {
    if (dim < 0 || dim >= static_cast<int64_t>(arg.shape.size()))
      return refuse(i, "a dimension of '" + arg.name + "', which has " +
                           std::to_string(arg.shape.size()) + ", got " + std::to_string(dim));
    return {};
  }

  Status verifyElement(size_t i, const ParameterPlan &map, const ArgumentPlan &arg) const {
    bool isByte = map.element == DType::F8E4M3 && map.kind == ParameterPlan::Kind::Map;
    if (map.element != DType::BF16 && map.element != DType::F16 && !isByte)
      return refuse(i, "bf16, f16 or f8e4m3 elements, got " + std::string(dtypeName(map.element)));
    if (!map.workspace && map.element != arg.dtype)
      return refuse(i, "the elements of '" + arg.name + "', " + std::string(dtypeName(arg.dtype)) +
                           ", got " + std::string(dtypeName(map.element)));
    return {};
  }

  Status verifyMap(size_t i, const ParameterPlan &map, const ArgumentPlan &arg) const {
    if (Status status = verifyElement(i, map, arg); !status)
      return status;
    if (map.workspace &&
        (*map.workspace < 0 || *map.workspace > function_.workspaceSize || *map.workspace % kUnit))
      return refuse(i, "a place in the workspace of " + std::to_string(function_.workspaceSize) +
                           " bytes at a multiple of 16, got " + std::to_string(*map.workspace));
    if (map.dims.empty() || map.dims.size() > kMaxMapRank || map.box.size() != map.dims.size())
      return refuse(i, "a map of 1 to 5 dimensions and a box of as many, got " +
                           std::to_string(map.dims.size()) + " and " +
                           std::to_string(map.box.size()));
    for (int64_t extent : map.box)
      if (extent < 1 || extent > kMaxBox)
        return refuse(i, "box extents from 1 to 256, got " + std::to_string(extent));
    for (size_t dim = 0; dim < map.dims.size(); ++dim)
      if (map.workspace && map.dims[dim].strideOf)
        return refuse(i, "a stride for a tensor in the workspace, got stride_of in dimension " +
                             std::to_string(dim) + " of the map");
      else if (Status status = verifyMapDimension(i, dim, map.dims[dim], arg); !status)
        return status;
    return {};
  }

  Status verifyMapDimension(size_t i, size_t dim, const MapDimension &entry,
                            const ArgumentPlan &arg) const {
    const std::string place = " in dimension " + std::to_string(dim) + " of the map";
    if (entry.extent.has_value() == entry.extentOf.has_value())
      return refuse(i, "either extent or extent_of" + place);
    if (dim == 0 ? entry.stride || entry.strideOf
                 : entry.stride.has_value() == entry.strideOf.has_value())
      return refuse(i, (dim == 0 ? "neither stride nor stride_of" : "either stride or stride_of") +
                           place);
    if (entry.extent && (*entry.extent < 1 || *entry.extent > (int64_t(1) << 32)))
      return refuse(i,
                    "an extent from 1 to 2^32" + place + ", got " + std::to_string(*entry.extent));
    if (entry.stride && (*entry.stride < 1 || *entry.stride % kUnit))
      return refuse(i, "a stride that is a positive multiple of 16 bytes" + place + ", got " +
                           std::to_string(*entry.stride));
    for (std::optional<int64_t> of : {entry.extentOf, entry.strideOf})
      if (of)
        if (Status status = verifyDimension(i, *of, arg); !status)
          return status;
    return {};
  }

  /// Pages of which the plan knows all extents but their number.
  Status verifyPages(size_t i, const ParameterPlan &pages, const ArgumentPlan &arg) const {
    auto fixed = [](const Extent &extent) { return extent.kind == Extent::Kind::Fixed; };
    if (arg.shape.size() != 4 || !std::all_of(arg.shape.begin() + 1, arg.shape.end(), fixed))
      return refuse(i, "an argument [pages, page, heads, dim] with fixed extents after the first, "
                       "got '" +
                           arg.name + "'");
    if (arg.dtype != DType::BF16 && arg.dtype != DType::F16)
      return refuse(i, "pages of bf16 or f16, got " + std::string(dtypeName(arg.dtype)));
    const int64_t page = arg.shape[1].value, dim = arg.shape[3].value;
    if (page % kSwizzleRows)
      return refuse(i, "pages of a multiple of 8 slots, got " + std::to_string(page));
    if (pages.panels < 1 || pages.panels > kMaxBox || pages.panels * kPanelElements != dim)
      return refuse(i, "1 to 256 panels of 64 elements for a dim of " + std::to_string(dim) +
                           ", got " + std::to_string(pages.panels));
    return {};
  }

  Status verifyPageMap(size_t i, const ParameterPlan &map, const ArgumentPlan &arg) const {
    if (Status status = verifyPages(i, map, arg); !status)
      return status;
    const int64_t page = arg.shape[1].value;
    if (map.boxRows < 1 || map.boxRows > kMaxBox || map.boxRows % kSwizzleRows ||
        page % map.boxRows)
      return refuse(i, "box_rows up to 256, a multiple of 8 that divides a page of " +
                           std::to_string(page) + " slots, got " + std::to_string(map.boxRows));
    return verifyElement(i, map, arg);
  }

  const FunctionPlan &function_;
  const KernelPlan &kernel_;
  const CudaKernelPlan &cuda_;
};
} // namespace

int64_t pagefold::runtime::frameWords(const FunctionPlan &function) {
  int64_t words = 0;
  for (const ArgumentPlan &arg : function.args)
    words += arg.scalar ? 1 : tensorWords(static_cast<int64_t>(arg.shape.size()));
  return words;
}

ParameterSize pagefold::runtime::parameterSize(const FunctionPlan &function,
                                               const ParameterPlan &parameter) {
  constexpr int64_t word = sizeof(int64_t);
  switch (parameter.kind) {
  case Kind::Map:
  case Kind::PageMap:
    return {128, 64};
  case Kind::Extent:
  case Kind::Constant:
  case Kind::PageStep:
    return {sizeof(int32_t), sizeof(int32_t)};
  case Kind::Scalar: {
    int64_t bytes = dtypeSize(function.args[static_cast<size_t>(parameter.arg)].dtype);
    return {bytes, bytes};
  }
  case Kind::Frame:
    return {(frameWords(function) + tensorWords(1)) * word, word};
  case Kind::Pointer:
  case Kind::Stride:
  case Kind::Workspace:
  case Kind::ErrorWord:
    break;
  }
  return {word, word};
}

Status pagefold::runtime::verifyCuda(const FunctionPlan &function) {
  if (function.errorWord)
    return broken(function, "expects no error word in the workspace on target cuda, got offset " +
                                std::to_string(*function.errorWord));
  if (function.scratchSize != 0)
    return broken(function, "expects no scratch on target cuda, got " +
                                std::to_string(function.scratchSize) + " bytes");
  for (const KernelPlan &kernel : function.kernels) {
    if (!kernel.cuda)
      return broken(function,
                    "kernel '" + kernel.symbol + "' expects threads on target cuda, got workers");
    if (Status status = Rules(function, kernel).verify(); !status)
      return status;
  }
  return {};
}
