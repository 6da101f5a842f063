//===- KernelParameters.h - the values that a CUDA kernel is given -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan says what each parameter is (docs/artifact.md). Here that is prepared once for each
// kernel, as places in a buffer and in the words of the checked arguments, so that a launch copies
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_KERNELPARAMETERS_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_KERNELPARAMETERS_H

#include "../core/Arguments.h"
#include "TensorMapCache.h"

#include <optional>

namespace pagefold::runtime {

/// What the parameters of one launch are made from. Addresses are the device's.
struct LaunchValues {
  const std::vector<int64_t> &words; ///< of the checked arguments
  uint64_t workspace;
  uint64_t errorWord; ///< aligned to 64 bytes
};

class KernelParameters {
public:
  /// `firstMap` numbers the kernel's maps apart from those of the function's other kernels. The
  /// function's plan must outlive this.
  KernelParameters(const FunctionPlan &function, const KernelPlan &kernel,
                   const ArgumentBinder &binder, uint64_t firstMap);

  size_t count() const { return entries_.size(); }
  uint64_t maps() const { return maps_.size(); }
  /// Bytes of all values, each at its alignment in a buffer that is aligned to 64.
  size_t bytes() const { return bytes_; }

  /// Writes the values into `buffer` and their addresses into `pointers`. InvalidArgument where the
  /// chip cannot address a tensor.
  Status fill(const CudaDriver &driver, const LaunchValues &values, TensorMapCache &cache,
              std::byte *buffer, void **pointers) const;

private:
  using Kind = ParameterPlan::Kind;

  struct Entry {
    Kind kind;
    size_t place;  ///< in the buffer
    size_t size;   ///< bytes
    size_t word;   ///< of the arguments' words
    int64_t add;   ///< Extent: to the word; Workspace: the offset; PageStep: which
    size_t number; ///< Map, PageMap: index into maps_; Extent, PageStep: the argument
  };
  /// A number of a map: fixed, or a word times `scale`.
  struct Number {
    bool fixed = true;
    int64_t value = 0; ///< the number, or the index of the word
    uint64_t scale = 1;
    uint64_t from(const std::vector<int64_t> &words) const;
  };
  struct Map {
    TensorMapRecipe recipe;
    uint64_t parameter;
    size_t arg;
    size_t addressWord, rank;         ///< of the argument: its extents follow the address
    std::optional<int64_t> workspace; ///< the tensor's place there
    bool pages; ///< a PageMap: viewPages() gives the numbers that others have below
    Number extents[TensorMapKey::kMaxRank], strides[TensorMapKey::kMaxRank - 1];
    /// Of a stride that is the argument's: the word of its extent.
    size_t strideExtents[TensorMapKey::kMaxRank - 1] = {};
  };

  Entry makeEntry(const ParameterPlan &parameter, const ArgumentBinder &binder);
  Map makeMap(const ParameterPlan &parameter, const ArgumentBinder &binder) const;
  Map makePageMap(const ParameterPlan &parameter, const ArgumentBinder &binder) const;
  Result<TensorMapKey> keyOf(const Map &map, const LaunchValues &values) const;
  Status fillMap(const CudaDriver &driver, const LaunchValues &values, const Map &map,
                 TensorMapCache &cache, std::byte *to) const;
  Status fillExtent(const Entry &entry, const LaunchValues &values, std::byte *to) const;
  Status fillPageStep(const Entry &entry, const LaunchValues &values, std::byte *to) const;
  tl::unexpected<Error> refuse(size_t arg, const Error &error) const;
  void fillFrame(const LaunchValues &values, std::byte *to) const;

  const FunctionPlan &function_;
  uint64_t firstMap_;
  std::vector<Entry> entries_;
  std::vector<Map> maps_;
  size_t bytes_ = 0;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_KERNELPARAMETERS_H
