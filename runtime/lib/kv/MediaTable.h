//===- MediaTable.h - token ids for what stands behind placeholders -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_LIB_KV_MEDIATABLE_H
#define PAGEFOLD_RUNTIME_LIB_KV_MEDIATABLE_H

#include "pagefold/runtime/PrefixKey.h"

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pagefold::runtime {

/// Every image (its key and length) gets a negative token id of its own, put in place of its
/// placeholder tokens in the ids by which a hit is confirmed: two prompts then agree on those ids
/// exactly when they hold the same images at the same places. Vocabulary ids are never negative.
class MediaTable {
public:
  /// The ids that confirm hits on this key. With `grow` false, unknown media get an id that
  /// nothing else has.
  std::vector<TokenId> confirmingTokens(const PrefixKey &key, bool grow);

  size_t size() const { return ids_.size(); }
  /// Worth a sweep? Doubles with what the last sweep kept, so that sweeping is amortised.
  bool wantsSweep() const { return ids_.size() >= sweepAt_; }
  /// Forgets all media whose id is not marked in `used` (by negated id); their ids may be reused.
  void sweep(const std::vector<bool> &used);
  TokenId idLimit() const { return nextId_; } ///< ids are -1 .. -(idLimit() - 1)

private:
  TokenId idOf(const MediaSpan &span, bool grow);

  std::unordered_map<std::string, TokenId> ids_;
  std::vector<TokenId> unused_;
  TokenId nextId_ = 1;
  size_t sweepAt_ = 64;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_LIB_KV_MEDIATABLE_H
