//===- PrefixKey.cpp - what makes two prefixes the same -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/PrefixKey.h"

#include <cstring>
#include <sodium.h>

using namespace pagefold::runtime;

std::string PageHash::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

static PageHash digest(PageHashKind kind, const void *data, size_t size) {
  PageHash hash;
  if (kind == PageHashKind::Constant)
    return hash;
  // Picks the fastest code for this machine; once, and safe on any thread.
  [[maybe_unused]] static const int ready = sodium_init();
  crypto_generichash(hash.bytes.data(), hash.bytes.size(), static_cast<const uint8_t *>(data), size,
                     nullptr, 0);
  if (kind == PageHashKind::FourBits)
    hash.bytes = {static_cast<uint8_t>(hash.bytes[0] & 15)};
  return hash;
}

namespace {
/// Bytes to hash, each field with its length before it or of a fixed width. Starts on the stack: a
/// page of 16 tokens is 84 bytes, one block of the hash.
class FieldWriter {
public:
  void fixed(const void *data, size_t size) {
    if (spill_.empty() && used_ + size <= sizeof(inline_)) {
      std::memcpy(inline_ + used_, data, size);
      used_ += size;
      return;
    }
    if (spill_.empty())
      spill_.assign(inline_, used_);
    spill_.append(static_cast<const char *>(data), size);
  }
  void number(uint64_t value) { fixed(&value, sizeof(value)); }
  void sized(std::string_view text) {
    number(text.size());
    fixed(text.data(), text.size());
  }
  std::string_view bytes() const {
    return spill_.empty() ? std::string_view(inline_, used_) : spill_;
  }

private:
  char inline_[256];
  size_t used_ = 0;
  std::string spill_;
};
} // namespace

static std::string writeIdentity(const PrefixIdentity &identity) {
  FieldWriter out;
  out.sized(identity.salt);
  out.sized(identity.adapter);
  out.number(identity.extraKeys.size());
  for (const std::string &key : identity.extraKeys)
    out.sized(key);
  return std::string(out.bytes());
}

static Status checkTokens(std::span<const TokenId> tokens, size_t at) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0)
      return fail(ErrorCode::BadInput, "prefix key expects token ids of 0 or more, got " +
                                           std::to_string(tokens[i]) + " at token " +
                                           std::to_string(at + i));
  return {};
}

static Status checkMedia(const std::vector<MediaSpan> &media, size_t numTokens) {
  int64_t end = 0;
  for (const MediaSpan &span : media) {
    int64_t spanEnd = int64_t(span.offset) + span.length;
    if (span.length < 1 || span.offset < end || spanEnd > static_cast<int64_t>(numTokens))
      return fail(ErrorCode::BadInput,
                  "prefix key expects media spans sorted, apart and inside the prompt of " +
                      std::to_string(numTokens) + " tokens, got [" + std::to_string(span.offset) +
                      ", " + std::to_string(spanEnd) + ") after one that ends at " +
                      std::to_string(end));
    end = spanEnd;
  }
  return {};
}

Result<PrefixKey> PrefixKey::create(const PromptView &prompt, int32_t pageSize, PageHashKind kind) {
  if (pageSize < 1 || pageSize > 1024)
    return fail(ErrorCode::BadInput, "prefix key expects a page size of 1 to 1024 tokens, got " +
                                         std::to_string(pageSize));
  if (Status ok = checkTokens(prompt.tokens, 0); !ok)
    return tl::unexpected(ok.error());
  if (Status ok = checkMedia(prompt.media, prompt.tokens.size()); !ok)
    return tl::unexpected(ok.error());
  PrefixKey key;
  key.pageSize_ = pageSize;
  key.kind_ = kind;
  key.identity_ = prompt.identity;
  key.identityBytes_ = writeIdentity(prompt.identity);
  key.root_ = digest(kind, key.identityBytes_.data(), key.identityBytes_.size());
  key.media_ = prompt.media;
  key.tokens_.assign(prompt.tokens.begin(), prompt.tokens.end());
  key.hashes_.reserve(prompt.tokens.size() / pageSize);
  key.hashNewPages();
  return key;
}

Status PrefixKey::append(std::span<const TokenId> tokens) {
  if (Status ok = checkTokens(tokens, tokens_.size()); !ok)
    return ok;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  hashNewPages();
  return {};
}

PageHash PrefixKey::hashAfter(const PageHash &parent, int32_t page, int32_t count) const {
  FieldWriter out;
  int32_t begin = page * pageSize_, end = begin + count;
  out.fixed(parent.bytes.data(), parent.bytes.size());
  out.fixed(&count, sizeof(count));
  out.fixed(&tokens_[begin], count * sizeof(TokenId));
  for (const MediaSpan &span : media_) {
    if (span.offset >= end || span.offset + span.length <= begin)
      continue;
    // Where the image lies relative to the page: the same image elsewhere is another key.
    int32_t place[2] = {span.offset - begin, span.length};
    out.fixed(place, sizeof(place));
    out.sized(span.key);
  }
  return digest(kind_, out.bytes().data(), out.bytes().size());
}

PageHash PrefixKey::hashOf(int32_t page, int32_t count) const {
  return hashAfter(page == 0 ? root_ : hashes_[page - 1], page, count);
}

void PrefixKey::hashNewPages() {
  size_t pages = tokens_.size() / pageSize_;
  if (hashes_.empty() && pages > 0)
    contentTag_ = hashAfter(PageHash(), 0, pageSize_).prefix() | 1;
  while (hashes_.size() < pages)
    hashes_.push_back(hashOf(static_cast<int32_t>(hashes_.size()), pageSize_));
}
