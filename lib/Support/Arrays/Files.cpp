//===- Files.cpp - bytes of files, all or none ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/ArrayFiles.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace pagefold;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;
using runtime::Status;

Result<std::string> pagefold::readFile(const std::string &path) {
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status))
    return fail(ErrorCode::NotFound, "cannot read '" + path + "': there is no such file");
  if (std::filesystem::is_directory(status))
    return fail(ErrorCode::NotFound, "cannot read '" + path + "': it is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return fail(ErrorCode::NotFound, "cannot read '" + path + "': " + std::strerror(errno));
  // Piece by piece, since a pipe has no size to ask for.
  std::string bytes;
  char piece[1 << 16];
  while (stream.read(piece, sizeof(piece)) || stream.gcount())
    bytes.append(piece, stream.gcount());
  if (stream.bad())
    return fail(ErrorCode::NotFound,
                "reading '" + path + "' failed after " + std::to_string(bytes.size()) + " bytes");
  return bytes;
}

static Status writeTemporary(const std::string &path, const std::string &temporary,
                             const std::string &bytes) {
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (stream)
    return {};
  return fail(ErrorCode::NotFound, "cannot write '" + path + "': " + std::strerror(errno));
}

Status pagefold::writeFiles(std::span<const FileContents> files) {
  std::string suffix = ".tmp" + std::to_string(getpid());
  Status status;
  for (const FileContents &file : files)
    if (status = writeTemporary(file.path, file.path + suffix, file.bytes); !status)
      break;
  for (const FileContents &file : files) {
    if (!status) {
      std::remove((file.path + suffix).c_str());
    } else if (std::rename((file.path + suffix).c_str(), file.path.c_str()) != 0) {
      status =
          fail(ErrorCode::NotFound, "cannot write '" + file.path + "': " + std::strerror(errno));
      std::remove((file.path + suffix).c_str());
    }
  }
  return status;
}
