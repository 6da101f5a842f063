//===- PageTypes.h - the words of the page manager --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page holds the K and V of `pageSize` consecutive tokens, for all layers. The manager hands out
// page ids only; it never sees the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_PAGETYPES_H
#define PAGEFOLD_RUNTIME_PAGETYPES_H

#include <cstdint>
#include <vector>

namespace pagefold::runtime {

using TokenId = int32_t;    ///< a vocabulary index, never negative
using PageId = int32_t;     ///< 0 .. numPages - 1; what the device's page table holds
using RequestId = uint64_t; ///< chosen by the caller, unique among the live requests
using OwnerId = uint32_t;   ///< one live prefix identity (tenant salt, adapter, extra keys)

inline constexpr PageId kNoPage = -1; ///< what a page table holds where a row has no page
inline constexpr OwnerId kNoOwner = 0xffffffffu;

/// A page and whose it is. Two handles of different owners never name the same page.
struct PageHandle {
  PageId page = kNoPage;
  OwnerId owner = kNoOwner;
  bool operator==(const PageHandle &) const = default;
};

/// "Copy the first `tokens` tokens of `source` to `destination`": due before anything is written.
/// The copies of one drain may run in any order or at once: no destination occurs twice, and no
/// destination is a source.
struct PageCopy {
  PageId source = kNoPage;
  PageId destination = kNoPage;
  int32_t tokens = 0; ///< 1 .. pageSize
  bool operator==(const PageCopy &) const = default;
};

/// One changed entry of the page table. A drain names each (row, column) at most once.
struct TableUpdate {
  int32_t row = 0;
  int32_t column = 0;
  PageId value = kNoPage;
  bool operator==(const TableUpdate &) const = default;
};

/// What the device must do before the next launch: first the copies, then (or at once) the updates.
struct StepChanges {
  std::vector<PageCopy> copies;
  std::vector<TableUpdate> tableUpdates;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_PAGETYPES_H
