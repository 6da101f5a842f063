//===- OwnerTable.cpp - small numbers for live identities -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnerTable.h"

using namespace pagefold::runtime;

OwnerId OwnerTable::acquire(std::string_view identityBytes) {
  auto [found, isNew] = byIdentity_.try_emplace(std::string(identityBytes), kNoOwner);
  if (!isNew) {
    hold(found->second);
    return found->second;
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<OwnerId>(entries_.size()));
    entries_.emplace_back();
  }
  OwnerId owner = unused_.back();
  unused_.pop_back();
  entries_[owner] = {found->first, 1};
  found->second = owner;
  return owner;
}

void OwnerTable::release(OwnerId owner) {
  Entry &entry = entries_[owner];
  if (--entry.holders > 0)
    return;
  byIdentity_.erase(entry.identity);
  entry.identity.clear();
  unused_.push_back(owner);
}

OwnerId OwnerTable::find(std::string_view identityBytes) const {
  auto found = byIdentity_.find(std::string(identityBytes));
  return found == byIdentity_.end() ? kNoOwner : found->second;
}
