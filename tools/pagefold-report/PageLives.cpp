//===- PageLives.cpp - how long pages live, idle and wait for reuse -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageLives.h"

namespace pagefold::report {

void PageLives::pageAllocated(runtime::PageHandle handle) {
  births[size_t(handle.page)] = touches[size_t(handle.page)] = now;
  ++allocated;
}

void PageLives::pageTouched(runtime::PageId page) {
  if (touchesAreLookups)
    reuseGap.add(now - touches[size_t(page)]);
  touches[size_t(page)] = now;
}

void PageLives::pageFreed(runtime::PageId page) {
  lifetime.add(now - births[size_t(page)]);
  idleBeforeEvict.add(now - touches[size_t(page)]);
  ++freed;
}

} // namespace pagefold::report
