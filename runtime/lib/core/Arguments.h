//===- Arguments.h - DLPack tensors against the plan ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks every argument of a launch and writes its words of the frame (Launch.h). The plan is
// prepared once per function, so that a launch compares integers only; sentences are made when
// something is wrong.
//
// Tensors lie in the memory that the function works in, all on one device. Scalars are read when
// the launch starts: they lie in host memory, whatever the target.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_ARGUMENTS_H
#define PAGEFOLD_RUNTIME_LIB_CORE_ARGUMENTS_H

#include "pagefold/runtime/Artifact.h"

#include <dlpack/dlpack.h>

namespace pagefold::runtime {

/// Bytes [begin, end) that an argument may touch; empty when it has no element.
struct ByteRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool intersects(const ByteRange &other) const { return begin < other.end && other.begin < end; }
};

/// Arguments of one launch, checked. Reused from launch to launch, so that it allocates once.
struct BoundArguments {
  struct Symbol {
    int64_t value = -1; ///< -1: not bound yet
    size_t arg = 0;     ///< who bound it
    size_t dim = 0;
  };
  std::vector<int64_t> words; ///< of the frame
  int32_t device = -1;        ///< of the tensors; -1 where there is none
  size_t deviceOf = 0;        ///< the argument that said so
  std::vector<ByteRange> ranges;
  std::vector<Symbol> symbols;
};

class ArgumentBinder {
public:
  /// Tensors are expected in `memory`: kDLCPU or kDLCUDA.
  ArgumentBinder(const FunctionPlan &function, DLDeviceType memory);

  /// Words of the frame before those of argument `arg`.
  size_t firstWord(size_t arg) const { return firstWords_[arg]; }

  /// Checks `args` and fills `bound`. Nothing of the tensors' data is touched but scalars.
  Status bind(std::span<const DLTensor *const> args, BoundArguments &bound) const;

private:
  struct Dim {
    Extent::Kind kind;
    int64_t value;
    size_t symbol; ///< index into symbols_
  };
  struct Symbol {
    std::string name;
    int64_t bound; ///< the declared maximum, or INT64_MAX
  };
  struct Walk; ///< one argument being checked

  size_t symbolIndex(const std::string &name);
  Status bindOne(const Walk &walk, BoundArguments &bound) const;
  Status checkType(const Walk &walk) const;
  Status checkDevice(const Walk &walk, BoundArguments &bound) const;
  Status checkExtents(const Walk &walk, BoundArguments &bound) const;
  Status checkSymbol(const Walk &walk, size_t dim, BoundArguments &bound) const;
  Status checkOverlaps(const BoundArguments &bound) const;

  const FunctionPlan &function_;
  DLDeviceType memory_;
  std::vector<std::vector<Dim>> dims_; ///< by argument
  std::vector<Symbol> symbols_;
  std::vector<size_t> firstWords_; ///< by argument
};

/// Space for a launch's checked arguments, kept by the thread so that launches do not allocate.
BoundArguments &boundArguments();

/// No kernel may write its partial results over an argument.
Status checkApart(const FunctionPlan &function, const BoundArguments &bound, const void *workspace);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_ARGUMENTS_H
