//===- Sha256.cpp - naming a trace by its bytes ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sha256.h"

#include <sodium.h>

std::string pagefold::report::sha256(std::string_view bytes) {
  unsigned char digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(digest, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  char text[2 * sizeof digest + 1];
  return sodium_bin2hex(text, sizeof text, digest, sizeof digest);
}
