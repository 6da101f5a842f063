//===- PendingCopies.h - page copies that the device has yet to do -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_PENDINGCOPIES_H
#define PAGEFOLD_RUNTIME_LIB_KV_PENDINGCOPIES_H

#include "PageCache.h"

#include <vector>

namespace pagefold::runtime {

/// Copies since the last drain. Each holds its source (as a user), so that the bytes stay until the
/// copy is on the caller's stream; a copy whose destination is freed is dropped.
class PendingCopies {
public:
  explicit PendingCopies(PageCache &cache) : cache_(cache) {}

  bool empty() const { return copies_.empty(); }
  const std::vector<PageCopy> &list() const { return copies_; }

  void add(PageId source, PageId destination, int32_t tokens);
  bool isDestination(PageId page) const;
  /// How many of a page's users are copies.
  int32_t usersOf(PageId source) const;
  /// `destination` is about to lose its last user.
  void dropInto(PageId destination);
  std::vector<PageCopy> drain();

private:
  PageCache &cache_;
  std::vector<PageCopy> copies_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_PENDINGCOPIES_H
