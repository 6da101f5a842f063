//===- SiblingIndex.cpp - the pages that continue one prefix, in token order -===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SiblingIndex.h"

#include <algorithm>
#include <cassert>

using namespace pagefold::runtime;

/// A fixed pseudo-random priority for each page id keeps the treap balanced and runs reproducible.
static uint32_t treapPriority(PageId page) {
  uint32_t x = static_cast<uint32_t>(page) * 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

int32_t pagefold::runtime::commonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  size_t n = std::min(a.size(), b.size());
  return static_cast<int32_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

SiblingKey SiblingIndex::keyOf(PageId page) const {
  return {pool_[page].parent, pool_[page].owner, std::as_const(pool_).tokens(page)};
}

bool SiblingIndex::less(const SiblingKey &a, const SiblingKey &b) const {
  if (a.parent != b.parent)
    return a.parent < b.parent;
  if (a.owner != b.owner)
    return a.owner < b.owner;
  return std::lexicographical_compare(a.tokens.begin(), a.tokens.end(), b.tokens.begin(),
                                      b.tokens.end());
}

void SiblingIndex::insert(PageId id) {
  SiblingKey key = keyOf(id);
  // Down to where the new page's priority belongs ...
  PageId *link = &root_;
  while (*link != kNoPage && treapPriority(*link) >= treapPriority(id))
    link = less(keyOf(*link), key) ? &pool_[*link].siblingAfter : &pool_[*link].siblingBefore;
  // ... then split what hung there into what comes before and after it.
  PageId rest = *link;
  *link = id;
  PageId *before = &pool_[id].siblingBefore;
  PageId *after = &pool_[id].siblingAfter;
  while (rest != kNoPage) {
    bool isBefore = less(keyOf(rest), key);
    PageId *&side = isBefore ? before : after;
    *side = rest;
    side = isBefore ? &pool_[rest].siblingAfter : &pool_[rest].siblingBefore;
    rest = *side;
  }
  *before = kNoPage;
  *after = kNoPage;
}

/// Joins two treaps, everything in `before` preceding everything in `after`.
PageId SiblingIndex::merge(PageId before, PageId after) {
  PageId result = kNoPage;
  PageId *link = &result;
  while (before != kNoPage && after != kNoPage) {
    bool beforeOnTop = treapPriority(before) >= treapPriority(after);
    PageId &top = beforeOnTop ? before : after;
    *link = top;
    link = beforeOnTop ? &pool_[top].siblingAfter : &pool_[top].siblingBefore;
    top = *link;
  }
  *link = before != kNoPage ? before : after;
  return result;
}

void SiblingIndex::erase(PageId id) {
  SiblingKey key = keyOf(id);
  PageId *link = &root_;
  while (*link != id) {
    assert(*link != kNoPage && "a cached page is in the index");
    link = less(keyOf(*link), key) ? &pool_[*link].siblingAfter : &pool_[*link].siblingBefore;
  }
  *link = merge(pool_[id].siblingBefore, pool_[id].siblingAfter);
}

SiblingIndex::Neighbours SiblingIndex::find(const SiblingKey &key) const {
  PageId before = kNoPage, after = kNoPage;
  for (PageId node = root_; node != kNoPage;) {
    bool isBefore = less(keyOf(node), key);
    (isBefore ? before : after) = node;
    node = isBefore ? pool_[node].siblingAfter : pool_[node].siblingBefore;
  }
  auto sibling = [&](PageId page) {
    bool same =
        page != kNoPage && pool_[page].parent == key.parent && pool_[page].owner == key.owner;
    return same ? page : kNoPage;
  };
  return {sibling(before), sibling(after)};
}

int32_t SiblingIndex::countOrdered() const {
  PageId last = kNoPage;
  int32_t count = 0;
  return countOrdered(root_, last, count) ? count : -1;
}

bool SiblingIndex::countOrdered(PageId node, PageId &last, int32_t &count) const {
  if (node == kNoPage)
    return true;
  if (++count > pool_.size() || !countOrdered(pool_[node].siblingBefore, last, count))
    return false;
  // Equal keys would make a page findable twice.
  if (last != kNoPage && !less(keyOf(last), keyOf(node)))
    return false;
  last = node;
  return countOrdered(pool_[node].siblingAfter, last, count);
}
