//===- PageSurvey.h - who holds which pages, and how they lie ---*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From time to time the replay walks the page tables of all running requests, as a kernel would.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_PAGESURVEY_H
#define PAGEFOLD_REPORT_PAGESURVEY_H

#include "PageLives.h"

#include "pagefold/runtime/KvCacheManager.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pagefold::report {

/// A running request whose table is walked.
struct Holder {
  runtime::RequestId request;
  double admitted;    ///< s
  std::string prefix; ///< what its prompt begins with, as the report names it
};

/// Pages that several requests hold, by the prefix they begin with.
struct SharedGroup {
  std::string prefix;
  uint64_t pages = 0;
  uint64_t holders = 0;  ///< requests that hold any of them
  uint64_t orphaned = 0; ///< of the pages, those whose first user is gone
};

class PageSurvey {
public:
  /// Tokens a kernel loads for one tile; pages of a tile that lie side by side need one TMA box.
  static constexpr uint32_t tileTokens = 64;

  PageSurvey(uint32_t pageSize, size_t pages, const PageLives &lives)
      : pageSize(pageSize), lives(lives), uses(pages) {}

  void take(const runtime::KvCacheManager &manager, const std::vector<Holder> &holders);

  uint64_t surveys() const { return count; }
  /// Mean pages of a run of physically consecutive pages.
  double meanRun() const { return runs ? double(tablePages) / runs : 0; }
  /// The part of table entries whose whole tile is one run. 1 where a page holds a tile.
  double oneBoxShare() const { return tablePages ? double(boxedPages) / tablePages : 0; }
  /// Boxes a tile needs, on average.
  double boxesPerTile() const { return tiles ? double(boxes) / tiles : 0; }
  /// Table entries in use, most seen at once, and their mean.
  uint64_t maxTablePages() const { return largest; }
  double meanTablePages() const { return count ? double(tablePages) / count : 0; }
  double meanSharedPages() const { return count ? double(shared) / count : 0; }
  double meanOrphanedPages() const { return count ? double(orphaned) / count : 0; }
  /// Of the survey with the most shared pages: the groups, largest first.
  const std::vector<SharedGroup> &groups() const { return peakGroups; }

private:
  struct PageUse {
    uint32_t holders = 0;
    bool counted = false;
    double firstAdmitted = 0;
  };
  using Tables = std::vector<std::vector<runtime::PageHandle>>;
  void walk(const std::vector<runtime::PageHandle> &pages);
  void countHolders(const std::vector<Holder> &holders, const Tables &tables);
  void addSharing(const std::vector<Holder> &holders, const Tables &tables);

  uint32_t pageSize;
  const PageLives &lives;
  std::vector<PageUse> uses; ///< by page; all unused between two surveys
  uint64_t count = 0, tablePages = 0, runs = 0, boxedPages = 0, tiles = 0, boxes = 0, largest = 0;
  uint64_t shared = 0, orphaned = 0, mostShared = 0;
  std::vector<SharedGroup> peakGroups;
};

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_PAGESURVEY_H
