//===- CacheEntry.h - a kept artifact as bytes ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_CACHEENTRY_H
#define PAGEFOLD_LIB_JIT_CACHEENTRY_H

#include "CompileKey.h"
#include "pagefold/Jit/Compile.h"
#include <optional>

namespace pagefold::jit {

/// The contents of a file that keeps an artifact: "PFKEPT" and a format of two bytes, the key, the
/// sizes of remarks and artifact as 64 bits each, little-endian, both, and a BLAKE3 hash of all
/// before it.
std::string writeEntry(const CompileKey &key, const Compiled &compiled);

/// Nothing where the bytes are not all that writeEntry() gave for this key.
std::optional<Compiled> readEntry(const CompileKey &key, llvm::StringRef bytes);

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_CACHEENTRY_H
