//===- MappedErrorWord.h - where kernels of a GPU report --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error word that the GPU writes over the bus while the host looks whenever it likes, so that no
// launch waits to know. A kernel claims `request` by an atomic compare-exchange from 0, then writes
// value, limit and, after a fence for the system, reason: a word without reason is being written.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CUDA_MAPPEDERRORWORD_H
#define PAGEFOLD_RUNTIME_LIB_CUDA_MAPPEDERRORWORD_H

#include "pagefold/runtime/Cuda.h"
#include "pagefold/runtime/Launch.h"

#include <optional>

namespace pagefold::runtime {

/// An ErrorWord in page-locked host memory of the current context, mapped to its device. The
/// context is to be current when this dies, too.
class MappedErrorWord {
public:
  static Result<MappedErrorWord> create(const CudaDriver &driver);
  MappedErrorWord(MappedErrorWord &&other) noexcept;
  MappedErrorWord &operator=(MappedErrorWord &&) = delete;
  ~MappedErrorWord();

  /// The device's address, aligned to a page.
  uint64_t deviceAddress() const { return device_; }
  /// What was reported since the last call, if anything.
  std::optional<ErrorWord> take();

private:
  MappedErrorWord(CudaDriver driver, ErrorWord *word, uint64_t device)
      : driver_(std::move(driver)), word_(word), device_(device) {}
  CudaDriver driver_;
  ErrorWord *word_;
  uint64_t device_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CUDA_MAPPEDERRORWORD_H
