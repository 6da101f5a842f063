//===- PageLives.h - how long pages live, idle and wait for reuse -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Watches the manager's pages on the replay's clock. The manager has no clock of its own, and
// says "touched" both when a look-up takes a page and when its last user leaves; which of the two
// it was follows from what the replay is doing.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_PAGELIVES_H
#define PAGEFOLD_REPORT_PAGELIVES_H

#include "LogHistogram.h"

#include "pagefold/runtime/CacheObserver.h"

#include <cstdint>
#include <vector>

namespace pagefold::report {

class PageLives final : public runtime::CacheObserver {
public:
  explicit PageLives(size_t pages) : births(pages, 0), touches(pages, 0) {}

  /// The replay's time in seconds, and whether touches from now on are look-ups.
  void setTime(double seconds, bool lookingUp) {
    now = seconds;
    touchesAreLookups = lookingUp;
  }

  void pageAllocated(runtime::PageHandle handle) override;
  void pageTouched(runtime::PageId page) override;
  void pageFreed(runtime::PageId page) override;

  /// When the page was last allocated.
  double birth(runtime::PageId page) const { return births[size_t(page)]; }

  LogHistogram lifetime;        ///< s from allocation to the free list
  LogHistogram idleBeforeEvict; ///< s from the last touch to the free list
  LogHistogram reuseGap;        ///< s between a touch and the look-up that found the page again
  uint64_t allocated = 0, freed = 0;

private:
  double now = 0;
  bool touchesAreLookups = false;
  std::vector<double> births, touches;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_PAGELIVES_H
