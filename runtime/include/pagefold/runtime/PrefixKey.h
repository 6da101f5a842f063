//===- PrefixKey.h - what makes two prefixes the same -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// K and V of a token depend on every token before it, on the weights (adapter), and on what stands
// behind placeholder tokens (images). Whether they may be *shared* depends on the tenant. All of it
// is part of a page's key:
//
//   hash(page 0) = H(H(identity), tokens of page 0, media under page 0)
//   hash(page i) = H(hash(page i - 1), tokens of page i, media under page i)
//
// Every field is length-prefixed, so ("ab", "c") and ("a", "bc") differ. H is BLAKE2b with 16-byte
// digests. A hash only *finds* a candidate: a hit is confirmed against stored token ids, parent
// page and owner, so that safety does not depend on H (see PageHashKind::Constant).
//
//   auto key = PrefixKey::create({.tokens = prompt, .identity = {.salt = "tenant-7"}}, 16);
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_RUNTIME_PREFIXKEY_H
#define PAGEFOLD_RUNTIME_PREFIXKEY_H

#include "pagefold/runtime/Error.h"
#include "pagefold/runtime/PageTypes.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pagefold::runtime {

/// The digest of one page's key: 128 bits of BLAKE2b, stable across processes and machines.
struct PageHash {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const PageHash &) const = default;
  /// The first eight bytes as a number: for tables and for short prints.
  uint64_t prefix() const {
    uint64_t value;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  std::string hex() const;
};

/// Which function makes the hashes. The last two exist to test that safety does not depend on it.
enum class PageHashKind : uint8_t { Blake2b, Constant, FourBits };

/// Who may share. Requests share pages only when every field is equal.
struct PrefixIdentity {
  std::string salt;                   ///< the tenant; empty: shared by all who leave it empty
  std::string adapter;                ///< adapter *content*: a reload under one name needs a new id
  std::vector<std::string> extraKeys; ///< anything else K and V depend on, in order
  bool operator==(const PrefixIdentity &) const = default;
};

/// Placeholder tokens [offset, offset + length) stand for the image, sound, ... with this key.
struct MediaSpan {
  int32_t offset = 0;
  int32_t length = 0;
  std::string key; ///< a digest of the content, chosen by the caller
  bool operator==(const MediaSpan &) const = default;
};

struct PromptView {
  std::span<const TokenId> tokens;
  PrefixIdentity identity = {};
  std::vector<MediaSpan> media = {}; ///< sorted by offset, not overlapping, inside the prompt
};

/// The tokens of one request with the hash of each full page, grown as tokens are appended. A
/// value: build it on any thread (this is where the hashing time goes), then hand it to the
/// manager.
class PrefixKey {
public:
  /// Fails with BadInput on a negative token, a page size outside 1..1024, or media spans that are
  /// unsorted, overlap or leave the prompt.
  static Result<PrefixKey> create(const PromptView &prompt, int32_t pageSize,
                                  PageHashKind kind = PageHashKind::Blake2b);

  /// Appends generated tokens and hashes the pages they fill. Fails on a negative token, unchanged.
  Status append(std::span<const TokenId> tokens);

  int32_t pageSize() const { return pageSize_; }
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); } ///< tokens
  PageHashKind hashKind() const { return kind_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  /// The hashes of the full pages: size() / pageSize() of them.
  std::span<const PageHash> pageHashes() const { return hashes_; }
  const PageHash &rootHash() const { return root_; }
  /// A digest of the first full page without the identity (0 below one page): it lets a miss be
  /// explained by "cached for another identity", and nothing else.
  uint64_t contentTag() const { return contentTag_; }
  /// The identity, written unambiguously: equal bytes if and only if equal identities.
  std::string_view identityBytes() const { return identityBytes_; }
  const PrefixIdentity &identity() const { return identity_; }
  std::span<const MediaSpan> media() const { return media_; }
  /// The hash of the first `count` tokens of page `page`; what a partial page would be called.
  PageHash hashOf(int32_t page, int32_t count) const;

private:
  PrefixKey() = default;
  void hashNewPages();
  PageHash hashAfter(const PageHash &parent, int32_t page, int32_t count) const;

  int32_t pageSize_ = 0;
  PageHashKind kind_ = PageHashKind::Blake2b;
  PageHash root_;
  uint64_t contentTag_ = 0;
  PrefixIdentity identity_;
  std::string identityBytes_;
  std::vector<TokenId> tokens_;
  std::vector<PageHash> hashes_;
  std::vector<MediaSpan> media_;
};

} // namespace pagefold::runtime

#endif // PAGEFOLD_RUNTIME_PREFIXKEY_H
