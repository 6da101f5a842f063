//===- CascadeCost.cpp - what reading a prefix once is worth --------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CascadeCost.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::attn;

static int64_t bytesOf(Type element) { return element.getIntOrFloatBitWidth() / 8; }
static int64_t elementBytes(Value tensor) {
  return bytesOf(cast<RankedTensorType>(tensor.getType()).getElementType());
}

CascadeCost pagefold::attn::cascadeCost(AttentionOp op, BoundsAttr bounds, int64_t keys,
                                        int64_t launchBytes) {
  constexpr int64_t kWord = 4; // of an lse, a page id
  PagedKVType cache = op.getCache().getType();
  int64_t keyBytes =
      cache.getHeads() * (cache.getKDim() + cache.getVDim()) * bytesOf(cache.getElementType());
  int64_t rows = bounds.maxTokens() * op.getQueryHeads();
  int64_t result = op.getVDim() * elementBytes(op.getResult());
  int64_t query = op.getKDim() * elementBytes(op.getQuery());
  // Two states are written and read; without them the result is written just once, as it is by the
  // merge.
  int64_t states = rows * 4 * (result + kWord);
  int64_t tables = bounds.getBatch() * llvm::divideCeil(bounds.getKvLen(), cache.getPageSize());
  return {bounds.getBatch(),
          keys,
          bounds.getBatch() * keys * keyBytes,
          keys * keyBytes,
          states + rows * query + 2 * kWord * tables,
          kCascadeKernels * launchBytes};
}

/// With one digit behind the point, in the unit that leaves at least one before it.
static std::string inUnits(int64_t bytes) {
  constexpr llvm::StringLiteral kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return unit ? llvm::formatv("{0:F1} {1}", value, kUnits[unit]).str()
              : llvm::formatv("{0} {1}", bytes, kUnits[unit]).str();
}

std::string CascadeCost::text() const {
  return llvm::formatv("a prefix of {0} keys is {1} read once, and {2} for each of {3} requests; "
                       "the cut and the merge cost {4}, and three launches {5}",
                       keys, inUnits(once), inUnits(each), requests, inUnits(merge),
                       inUnits(launches))
      .str();
}
