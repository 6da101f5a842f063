//===- File.h - whole files in and out --------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_FILE_H
#define PAGEFOLD_REPORT_FILE_H

#include "pagefold/runtime/Error.h"

#include <string>
#include <string_view>

namespace pagefold::report {

/// All bytes of a regular file.
runtime::Result<std::string> readFile(const std::string &path);

/// Replaces the file's bytes. On failure an earlier file may be lost.
runtime::Status writeFile(const std::string &path, std::string_view bytes);

/// The part of the path after its last slash.
std::string baseName(const std::string &path);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_FILE_H
