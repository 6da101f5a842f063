//===- AlignedBuffer.h - aligned memory that grows --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_CORE_ALIGNEDBUFFER_H
#define PAGEFOLD_RUNTIME_LIB_CORE_ALIGNEDBUFFER_H

#include "pagefold/runtime/Launch.h"

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>

namespace pagefold::runtime {

/// Memory aligned to kWorkspaceAlignment. Growing drops the contents. Never throws: where there is
/// no memory, reserve() says so.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(const AlignedBuffer &) = delete;
  AlignedBuffer &operator=(const AlignedBuffer &) = delete;

  [[nodiscard]] bool reserve(size_t size) noexcept {
    if (size <= size_)
      return true;
    std::free(data_);
    data_ = nullptr;
    size_ = 0;
    // A huge page's worth is aligned to one and asks for one: a page walk then costs no TLB misses.
    size_t alignment = size >= kHugePage ? kHugePage : size_t(kWorkspaceAlignment);
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    if (rounded < size)
      return false;
    data_ = static_cast<std::byte *>(std::aligned_alloc(alignment, rounded));
    if (!data_)
      return false;
    if (alignment == kHugePage)
      madvise(data_, rounded, MADV_HUGEPAGE); // advice: a refusal changes nothing
    size_ = rounded;
    return true;
  }

  std::byte *data() const { return data_; }
  size_t size() const { return size_; }

private:
  static constexpr size_t kHugePage = size_t(2) << 20;
  std::byte *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_CORE_ALIGNEDBUFFER_H
