//===- HashIndex.cpp - from a page hash to the pages that have it ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HashIndex.h"

#include <cassert>

using namespace pagefold::runtime;

HashIndex::HashIndex(PagePool &pool)
    : pool_(pool), buckets_((pool.size() * kHalfBucketsPerPage + 1) / 2, kNoPage) {}

void HashIndex::insert(PageId id) {
  PageId &head = buckets_[bucketOf(pool_[id].hash)];
  pool_[id].nextInBucket = head;
  head = id;
}

void HashIndex::erase(PageId id) {
  PageId *link = &buckets_[bucketOf(pool_[id].hash)];
  while (*link != id) {
    assert(*link != kNoPage && "a cached page is in its bucket");
    link = &pool_[*link].nextInBucket;
  }
  *link = pool_[id].nextInBucket;
}
