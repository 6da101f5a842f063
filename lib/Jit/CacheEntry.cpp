//===- CacheEntry.cpp - a kept artifact as bytes --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheEntry.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"

using namespace pagefold;
using namespace pagefold::jit;
using llvm::StringRef;

static constexpr StringRef kMagic("PFKEPT\1\0", 8);
static constexpr size_t kKeySize = sizeof(CompileKey::bytes), kSizeSize = 8, kHashSize = 32;
static constexpr size_t kHeadSize = kMagic.size() + kKeySize + 2 * kSizeSize;

static StringRef textOf(llvm::ArrayRef<uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

static llvm::BLAKE3Result<kHashSize> hashOf(StringRef bytes) {
  llvm::BLAKE3 blake;
  blake.update(bytes);
  return blake.final<kHashSize>();
}

static void appendSize(std::string &bytes, size_t size) {
  char text[kSizeSize];
  llvm::support::endian::write64le(text, size);
  bytes.append(text, kSizeSize);
}

std::string jit::writeEntry(const CompileKey &key, const Compiled &compiled) {
  std::string bytes = (kMagic + textOf(key.bytes)).str();
  appendSize(bytes, compiled.remarks.size());
  appendSize(bytes, compiled.artifact.size());
  bytes += compiled.remarks;
  bytes += compiled.artifact;
  bytes += textOf(hashOf(bytes));
  return bytes;
}

std::optional<Compiled> jit::readEntry(const CompileKey &key, StringRef bytes) {
  if (bytes.size() < kHeadSize + kHashSize || !bytes.starts_with(kMagic) ||
      bytes.substr(kMagic.size(), kKeySize) != textOf(key.bytes))
    return std::nullopt;
  StringRef hashed = bytes.drop_back(kHashSize), body = hashed.drop_front(kHeadSize);
  const char *sizes = bytes.data() + kMagic.size() + kKeySize;
  uint64_t remarks = llvm::support::endian::read64le(sizes);
  uint64_t artifact = llvm::support::endian::read64le(sizes + kSizeSize);
  if (remarks > body.size() || artifact != body.size() - remarks ||
      bytes.take_back(kHashSize) != textOf(hashOf(hashed)))
    return std::nullopt;
  return Compiled{body.drop_front(remarks).str(), body.take_front(remarks).str()};
}
