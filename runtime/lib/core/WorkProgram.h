//===- WorkProgram.h - integer arithmetic of the compiler -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic by which a kernel finds its visit list, run on numbers here: an explanation counts
// the very tiles that the kernel visits. Ops stand one after another, with a ';' between:
//
//   "const 128; add 0 2; div 3 1; max 4 0; return 5 3"
//
// Operands are numbers of slots: the inputs, then the result of each op. It is written by
// lib/Conversion/TileToHost/KernelAbout.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_WORKPROGRAM_H
#define PAGEFOLD_RUNTIME_LIB_CORE_WORKPROGRAM_H

#include "pagefold/runtime/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pagefold::runtime {

class WorkProgram {
public:
  /// Nothing where the text is no program of so many inputs.
  static std::optional<WorkProgram> parse(const std::string &text, size_t inputs);

  size_t inputs() const { return inputs_; }
  size_t results() const { return results_.size(); }
  /// The results, valid until the next run. Numbers of 64 bits, which wrap round; a division by 0
  /// gives 0.
  std::span<const int64_t> run(std::span<const int64_t> inputs);

private:
  struct Step {
    uint8_t op;
    uint32_t operands[3];
    int64_t constant;
  };
  size_t inputs_ = 0;
  std::vector<Step> steps_;
  std::vector<int64_t> slots_;
  std::vector<uint32_t> resultSlots_;
  std::vector<int64_t> results_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_WORKPROGRAM_H
