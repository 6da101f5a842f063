//===- MediaTable.cpp - token ids for what stands behind placeholders -----===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MediaTable.h"

#include <algorithm>
#include <limits>

using namespace pagefold::runtime;

TokenId MediaTable::idOf(const MediaSpan &span, bool grow) {
  // The length has a fixed width, so (length, key) is unambiguous.
  std::string name(reinterpret_cast<const char *>(&span.length), sizeof(span.length));
  name += span.key;
  auto found = ids_.find(name);
  if (found != ids_.end())
    return found->second;
  if (!grow)
    return std::numeric_limits<TokenId>::min();
  TokenId id = unused_.empty() ? nextId_++ : unused_.back();
  if (!unused_.empty())
    unused_.pop_back();
  ids_.emplace(std::move(name), -id);
  return -id;
}

std::vector<TokenId> MediaTable::confirmingTokens(const PrefixKey &key, bool grow) {
  std::vector<TokenId> tokens(key.tokens().begin(), key.tokens().end());
  for (const MediaSpan &span : key.media())
    std::fill_n(tokens.begin() + span.offset, span.length, idOf(span, grow));
  return tokens;
}

void MediaTable::sweep(const std::vector<bool> &used) {
  std::erase_if(ids_, [&](const auto &entry) {
    if (used[-entry.second])
      return false;
    unused_.push_back(-entry.second);
    return true;
  });
  sweepAt_ = std::max<size_t>(64, 2 * ids_.size());
}
