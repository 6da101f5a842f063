//===- File.cpp - whole files in and out ----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "File.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace pagefold::report {

using runtime::ErrorCode;
using runtime::fail;

runtime::Result<std::string> readFile(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail(ErrorCode::NotFound, "expects a file, got the folder '" + path + "'");
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return fail(ErrorCode::NotFound, "cannot read '" + path + "': " + std::strerror(errno));
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad())
    return fail(ErrorCode::NotFound, "reading '" + path + "' stopped: " + std::strerror(errno));
  return bytes;
}

runtime::Status writeFile(const std::string &path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  out.close();
  if (!out)
    return fail(ErrorCode::NotFound, "cannot write '" + path + "': " + std::strerror(errno));
  return {};
}

std::string baseName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

} // namespace pagefold::report
