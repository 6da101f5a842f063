//===- SiblingIndex.h - the pages that continue one prefix, in token order -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cached page that shares the most tokens with a given run of tokens is, in lexicographic
// order, a neighbour of that run. So one ordered index of all cached pages, by (page before, owner,
// tokens), answers two questions in O(log pages) whatever the number of siblings (every prompt that
// opens with the same token is one): the best partial hit inside a page, and where a prompt leaves
// what is cached. The order is kept as a treap threaded through the pages; priorities come from
// page ids.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_SIBLINGINDEX_H
#define PAGEFOLD_RUNTIME_LIB_KV_SIBLINGINDEX_H

#include "PagePool.h"

#include <span>

namespace pagefold::runtime {

/// Where a page stands, or would stand.
struct SiblingKey {
  PageId parent;
  OwnerId owner;
  std::span<const TokenId> tokens;
};

class SiblingIndex {
public:
  explicit SiblingIndex(PagePool &pool) : pool_(pool) {}

  void insert(PageId page);
  void erase(PageId page);

  /// The pages just before and at or after a key among its siblings; kNoPage where there is none.
  struct Neighbours {
    PageId before = kNoPage;
    PageId after = kNoPage;
  };
  Neighbours find(const SiblingKey &key) const;

  /// Are all pages in order, and how many are there? -1 if not in order.
  int32_t countOrdered() const;

private:
  SiblingKey keyOf(PageId page) const;
  bool less(const SiblingKey &a, const SiblingKey &b) const;
  PageId merge(PageId before, PageId after);
  bool countOrdered(PageId node, PageId &last, int32_t &count) const;

  PagePool &pool_;
  PageId root_ = kNoPage;
};

/// How many leading tokens two runs share.
int32_t commonPrefix(std::span<const TokenId> a, std::span<const TokenId> b);

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_SIBLINGINDEX_H
