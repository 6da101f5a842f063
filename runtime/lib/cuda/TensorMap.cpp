//===- TensorMap.cpp - encodes what TMA copies ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver checks the same rules and answers "invalid argument" to all of them: here each has its
// number.
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "pagefold/runtime/Cuda.h"

#include <array>
#include <optional>

using namespace pagefold::runtime;

static constexpr uint64_t kAlignment = 16;         ///< bytes, of the address and the strides
static constexpr uint64_t kMaxExtent = 1ull << 32; ///< elements
static constexpr uint64_t kMaxStride = 1ull << 40; ///< bytes; a stride is below it
static constexpr size_t kMaxRank = 5;
static constexpr uint32_t kMaxBox = 256; ///< elements of one dimension
static constexpr uint32_t kSwizzledRowBytes = 128;

static tl::unexpected<Error> refuse(const std::string &sentence) {
  return fail(ErrorCode::InvalidArgument, "a tensor map " + sentence);
}

/// As the driver names it; nothing where no map has it.
static std::optional<int> typeOf(DType element) {
  switch (element) {
  case DType::BF16:
    return kTypeBF16;
  case DType::F16:
    return kTypeF16;
  case DType::F8E4M3:
    return kTypeU8; // bytes as they are
  default:
    return std::nullopt;
  }
}

static Status checkRecipe(const TensorMapRecipe &recipe) {
  if (!typeOf(recipe.element))
    return refuse("expects bf16, f16 or f8e4m3 elements, got " +
                  std::string(dtypeName(recipe.element)));
  if (recipe.box.empty() || recipe.box.size() > kMaxRank)
    return refuse("expects a box of 1 to 5 dimensions, got " + std::to_string(recipe.box.size()));
  for (uint32_t extent : recipe.box)
    if (extent < 1 || extent > kMaxBox)
      return refuse("expects box extents from 1 to 256, got " + std::to_string(extent));
  if (recipe.box[0] * dtypeSize(recipe.element) > kSwizzledRowBytes)
    return refuse("expects a box row of at most 128 bytes, got " +
                  std::to_string(recipe.box[0] * dtypeSize(recipe.element)));
  return {};
}

static Status checkView(const TensorView &view, size_t rank) {
  if (view.extents.size() != rank || view.strides.size() != rank - 1)
    return refuse("of " + std::to_string(rank) +
                  " dimensions expects as many extents and one stride less, got " +
                  std::to_string(view.extents.size()) + " and " +
                  std::to_string(view.strides.size()));
  auto address = reinterpret_cast<uintptr_t>(view.address);
  if (!address || address % kAlignment)
    return refuse("expects an address aligned to 16 bytes, got " + std::to_string(address) +
                  "; copy the tensor to memory of its own");
  for (uint64_t extent : view.extents)
    if (extent < 1 || extent > kMaxExtent)
      return refuse("expects extents from 1 to 2^32, got " + std::to_string(extent));
  for (uint64_t stride : view.strides)
    if (stride % kAlignment || stride >= kMaxStride)
      return refuse("expects strides below 2^40 that are multiples of 16 bytes, got " +
                    std::to_string(stride) + "; make the tensor contiguous");
  return {};
}

Result<TensorMap> pagefold::runtime::encodeTensorMap(const CudaDriver &driver,
                                                     const TensorMapRecipe &recipe,
                                                     const TensorView &view) {
  if (Status status = checkRecipe(recipe); !status)
    return tl::unexpected(status.error());
  size_t rank = recipe.box.size();
  if (Status status = checkView(view, rank); !status)
    return tl::unexpected(status.error());
  std::array<uint32_t, kMaxRank> ones;
  ones.fill(1);
  TensorMap map;
  if (int code = driver.api().cuTensorMapEncodeTiled(
          &map, *typeOf(recipe.element), static_cast<uint32_t>(rank),
          const_cast<void *>(view.address), view.extents.data(), view.strides.data(),
          recipe.box.data(), ones.data(), kNoInterleave, kSwizzle128,
          recipe.readOnce ? kPromoteNone : kPromote256, kZeros))
    return tl::unexpected(driver.error("cannot encode a tensor map", code));
  return map;
}
