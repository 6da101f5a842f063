//===- CacheDirectory.cpp - files that many processes share ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheDirectory.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace pagefold;
using namespace pagefold::jit;
using runtime::ErrorCode;

/// A file that is being written. Whatever it is called, nobody reads it.
static constexpr llvm::StringLiteral kWriting = "writing-";
/// A writer takes a moment: one that is older than this has died.
static constexpr time_t kDeadAfterSeconds = 60 * 60;

static bool isOurs(const struct stat &status) {
  bool owned = status.st_uid == geteuid() || status.st_uid == 0;
  return owned && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

static tl::unexpected<runtime::Error> failed(const std::string &what, const std::string &path,
                                             llvm::StringRef reason) {
  return runtime::fail(ErrorCode::NotFound, "cannot " + what + " " + path + ": " + reason.str());
}

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

runtime::Result<CacheDirectory> CacheDirectory::open(const std::string &path) {
  if (std::error_code code = llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                                               llvm::sys::fs::owner_all))
    return failed("make the directory", path, code.message());
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return failed("open the directory", path, strerror(errno));
  CacheDirectory directory(path, descriptor);
  if (runtime::Status status = directory.check(); !status)
    return tl::unexpected(status.error());
  return directory;
}

CacheDirectory::~CacheDirectory() {
  if (descriptor >= 0)
    close(descriptor);
}

runtime::Status CacheDirectory::check() const {
  struct stat status;
  if (fstat(descriptor, &status))
    return failed("use the directory", path, strerror(errno));
  if (isOurs(status))
    return {};
  char mode[8];
  snprintf(mode, sizeof(mode), "%04o", status.st_mode & 07777u);
  return failed("use the directory", path,
                "what lies there is run as code: expects a directory that user " +
                    std::to_string(geteuid()) +
                    " or root owns and nobody else may write, got one of user " +
                    std::to_string(status.st_uid) + " with mode " + mode);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::optional<std::string> readAll(int file, size_t size) {
  std::string bytes(size, 0);
  size_t have = 0;
  while (have < size) {
    ssize_t got = ::read(file, bytes.data() + have, size - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return std::nullopt;
    have += static_cast<size_t>(got);
  }
  return bytes;
}

std::optional<std::string> CacheDirectory::read(llvm::StringRef name) const {
  int file = openat(descriptor, name.str().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return std::nullopt;
  llvm::scope_exit close([&] { ::close(file); });
  struct stat status;
  if (fstat(file, &status) || !S_ISREG(status.st_mode) || !isOurs(status))
    return std::nullopt;
  std::optional<std::string> bytes = readAll(file, static_cast<size_t>(status.st_size));
  (void)futimens(file,
                 nullptr); // trim() goes by it; where it is refused, nothing is written either
  return bytes;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A name that no other writer has, on this machine or another that shares the directory.
static std::string temporaryName() {
  uint64_t random[] = {static_cast<uint64_t>(getpid()), static_cast<uint64_t>(time(nullptr))};
  (void)getrandom(random, sizeof(random), 0); // no kernel of today refuses
  return (kWriting + llvm::utohexstr(random[0]) + llvm::utohexstr(random[1])).str();
}

/// 0, or the error's number.
static int writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR)
      return errno;
    bytes = bytes.drop_front(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return 0;
}

runtime::Status CacheDirectory::write(llvm::StringRef name, llvm::StringRef bytes) const {
  const std::string temporary = temporaryName();
  int file = openat(descriptor, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return failed("write to the directory", path, strerror(errno));
  int error = writeAll(file, bytes);
  if (close(file) && !error) // where a quota or a network's file system says so
    error = errno;
  if (!error && renameat(descriptor, temporary.c_str(), descriptor, name.str().c_str()))
    error = errno;
  if (!error)
    return {};
  unlinkat(descriptor, temporary.c_str(), 0);
  return failed("write to the directory", path, strerror(error));
}

//===----------------------------------------------------------------------===//
// Keeping it small
//===----------------------------------------------------------------------===//

namespace {
struct File {
  std::string name;
  int64_t size;
  timespec used;
};
} // namespace

static std::vector<File> listFiles(int directory) {
  int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = own < 0 ? nullptr : fdopendir(own);
  if (!stream)
    return {};
  std::vector<File> files;
  while (dirent *entry = readdir(stream)) {
    struct stat status;
    if (!fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode))
      files.push_back({entry->d_name, status.st_size, status.st_mtim});
  }
  closedir(stream);
  return files;
}

void CacheDirectory::trim(llvm::StringRef suffix, int64_t maxBytes) const {
  std::vector<File> kept;
  int64_t bytes = 0;
  for (File &file : listFiles(descriptor)) {
    llvm::StringRef name = file.name;
    if (name.starts_with(kWriting) && time(nullptr) - file.used.tv_sec > kDeadAfterSeconds)
      unlinkat(descriptor, file.name.c_str(), 0);
    if (!name.ends_with(suffix))
      continue;
    bytes += file.size;
    kept.push_back(std::move(file));
  }
  llvm::sort(kept, [](const File &a, const File &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const File &file : kept) {
    if (bytes <= maxBytes)
      break;
    unlinkat(descriptor, file.name.c_str(), 0);
    bytes -= file.size;
  }
}
