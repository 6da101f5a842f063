//===- Sha256.h - the hash that names an input ------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report names its trace by SHA-256, so that `sha256sum FILE` tells whether two reports are
// about the same requests.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_SHA256_H
#define PAGEFOLD_REPORT_SHA256_H

#include <string>
#include <string_view>

namespace pagefold::report {

/// The SHA-256 of `bytes`, 64 lower-case hexadecimal digits (FIPS 180-4).
std::string sha256(std::string_view bytes);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_SHA256_H
