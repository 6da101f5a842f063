//===- OwnerTable.h - small numbers for live identities ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_OWNERTABLE_H
#define PAGEFOLD_RUNTIME_LIB_KV_OWNERTABLE_H

#include "pagefold/runtime/PageTypes.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pagefold::runtime {

/// Gives every identity in use a number, so that a page can carry its owner in four bytes and
/// owners are compared exactly, not by hash. A number is in use while a request or a page holds it;
/// then it may name another identity.
class OwnerTable {
public:
  /// The owner of this identity, with one more holder.
  OwnerId acquire(std::string_view identityBytes);
  void hold(OwnerId owner) { ++entries_[owner].holders; }
  void release(OwnerId owner);
  /// The owner if the identity is in use, else kNoOwner.
  OwnerId find(std::string_view identityBytes) const;
  size_t size() const { return byIdentity_.size(); }
  int64_t holders(OwnerId owner) const { return entries_[owner].holders; }

private:
  struct Entry {
    std::string identity;
    int64_t holders = 0;
  };
  std::vector<Entry> entries_;
  std::vector<OwnerId> unused_;
  std::unordered_map<std::string, OwnerId> byIdentity_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_OWNERTABLE_H
