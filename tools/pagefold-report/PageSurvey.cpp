//===- PageSurvey.cpp - who holds which pages, and how they lie -----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageSurvey.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace pagefold::report {

using runtime::PageHandle;

void PageSurvey::walk(const std::vector<PageHandle> &pages) {
  const size_t tilePages = std::max<size_t>(1, tileTokens / pageSize);
  tablePages += pages.size();
  for (size_t tile = 0; tile < pages.size(); tile += tilePages) {
    size_t end = std::min(tile + tilePages, pages.size()), breaks = 0;
    for (size_t i = tile; i < end; ++i) {
      bool follows = i > 0 && pages[i].page == pages[i - 1].page + 1;
      runs += !follows;
      breaks += i > tile && !follows;
    }
    ++tiles;
    boxes += breaks + 1;
    boxedPages += breaks == 0 ? end - tile : 0;
  }
}

void PageSurvey::countHolders(const std::vector<Holder> &holders, const Tables &tables) {
  for (size_t i = 0; i < holders.size(); ++i)
    for (PageHandle handle : tables[i]) {
      PageUse &use = uses[size_t(handle.page)];
      use.firstAdmitted =
          use.holders ? std::min(use.firstAdmitted, holders[i].admitted) : holders[i].admitted;
      ++use.holders;
    }
}

void PageSurvey::addSharing(const std::vector<Holder> &holders, const Tables &tables) {
  countHolders(holders, tables);
  std::map<std::string, SharedGroup> groups;
  uint64_t sharedNow = 0;
  for (size_t i = 0; i < holders.size(); ++i) {
    bool holdsAny = false;
    for (PageHandle handle : tables[i]) {
      PageUse &use = uses[size_t(handle.page)];
      if (use.holders < 2)
        continue;
      holdsAny = true;
      if (std::exchange(use.counted, true))
        continue;
      // A page older than all who hold it was computed by a request that has left.
      bool isOrphan = lives.birth(handle.page) < use.firstAdmitted;
      SharedGroup &group = groups[holders[i].prefix];
      ++group.pages;
      group.orphaned += isOrphan;
      orphaned += isOrphan;
      ++sharedNow;
    }
    if (holdsAny)
      ++groups[holders[i].prefix].holders;
  }
  for (const std::vector<PageHandle> &table : tables)
    for (PageHandle handle : table)
      uses[size_t(handle.page)] = {};
  shared += sharedNow;
  if (sharedNow <= mostShared)
    return;
  mostShared = sharedNow;
  peakGroups.clear();
  for (auto &[prefix, group] : groups) {
    group.prefix = prefix;
    peakGroups.push_back(group);
  }
  // Largest first; the map has them by name, which decides between equals.
  std::sort(peakGroups.begin(), peakGroups.end(), [](const SharedGroup &a, const SharedGroup &b) {
    return std::tie(b.pages, a.prefix) < std::tie(a.pages, b.prefix);
  });
}

void PageSurvey::take(const runtime::KvCacheManager &manager, const std::vector<Holder> &holders) {
  std::vector<std::vector<PageHandle>> tables;
  uint64_t before = tablePages;
  for (const Holder &holder : holders) {
    auto pages = manager.pages(holder.request);
    tables.push_back(pages ? std::move(*pages) : std::vector<PageHandle>());
    walk(tables.back());
  }
  addSharing(holders, tables);
  ++count;
  largest = std::max(largest, tablePages - before);
}

} // namespace pagefold::report
