//===- TensorMapCache.h - encoded tensor maps, kept -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A serving step launches with tensors that lie where they lay in the last one: activations come
// from a graph's or an allocator's few places, pages stay for good. Encoding anew costs the driver
// up to a microsecond a map, finding an encoded one a tenth of that.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_TENSORMAPCACHE_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_TENSORMAPCACHE_H

#include "pagefold/runtime/Cuda.h"

#include <array>

namespace pagefold::runtime {

/// What a map is made from, in fixed space.
struct TensorMapKey {
  static constexpr size_t kMaxRank = 5;
  /// Bytes that a map may have as the stride of a dimension of one element, which is never used.
  static constexpr uint64_t kUnusedStride = 16;
  uint64_t parameter = 0; ///< which map of the function: it has one recipe
  uint64_t address = 0;
  std::array<uint64_t, kMaxRank> extents{};
  std::array<uint64_t, kMaxRank - 1> strides{};
  bool operator==(const TensorMapKey &) const = default;
};

/// A table in which every key has one place: a key takes the place of another. Not thread-safe.
class TensorMapCache {
public:
  /// The map of `key`, encoded by `recipe` where it is not in the table. Valid until the next call.
  Result<const TensorMap *> get(const CudaDriver &driver, const TensorMapKey &key,
                                const TensorMapRecipe &recipe);

private:
  // Enough for the maps of a model's layers when one function serves them all.
  static constexpr size_t kPlaces = 512;
  struct Place {
    TensorMapKey key; ///< of no tensor while its address is 0
    TensorMap map;
  };
  std::vector<Place> places_; ///< empty until a map is wanted
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_TENSORMAPCACHE_H
