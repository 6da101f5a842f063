//===- PendingCopies.cpp - page copies that the device has yet to do ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PendingCopies.h"

#include <algorithm>
#include <cassert>
#include <utility>

using namespace pagefold::runtime;

static auto into(PageId destination) {
  return [=](const PageCopy &copy) { return copy.destination == destination; };
}

void PendingCopies::add(PageId source, PageId destination, int32_t tokens) {
  // A page that is itself still to be filled: take from where it will be filled. Thus no
  // destination is a source, and the copies can run in any order.
  auto filling = std::find_if(copies_.begin(), copies_.end(), into(source));
  if (filling != copies_.end()) {
    assert(tokens <= filling->tokens);
    source = filling->source;
  }
  cache_.addUser(source);
  copies_.push_back({source, destination, tokens});
}

bool PendingCopies::isDestination(PageId page) const {
  return std::any_of(copies_.begin(), copies_.end(), into(page));
}

int32_t PendingCopies::usersOf(PageId source) const {
  return static_cast<int32_t>(std::count_if(copies_.begin(), copies_.end(),
                                            [=](const PageCopy &c) { return c.source == source; }));
}

void PendingCopies::dropInto(PageId destination) {
  auto found = std::find_if(copies_.begin(), copies_.end(), into(destination));
  if (found == copies_.end())
    return;
  PageId source = found->source;
  copies_.erase(found);
  cache_.release(source, cache_.nextTouch());
}

std::vector<PageCopy> PendingCopies::drain() {
  for (const PageCopy &copy : copies_)
    cache_.release(copy.source, cache_.nextTouch());
  return std::exchange(copies_, {});
}
