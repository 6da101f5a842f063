//===- CacheSettings.cpp - where artifacts are kept -----------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheSettings.h"
#include "llvm/Support/Path.h"
#include <cstdlib>

using namespace pagefold;
using namespace pagefold::jit;
using runtime::ErrorCode;

static constexpr int64_t kDefaultMaxBytes = int64_t(1) << 30;

/// A variable that is set to nothing is not set.
static llvm::StringRef variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static runtime::Result<CacheMode> modeOf(const CompileOptions &options) {
  const bool chosen = !options.cache.empty();
  llvm::StringRef word = chosen ? llvm::StringRef(options.cache) : variable("PAGEFOLD_CACHE");
  if (word.empty() || word == "disk")
    return CacheMode::Disk;
  if (word == "memory")
    return CacheMode::Memory;
  if (word == "off")
    return CacheMode::Off;
  return runtime::fail(
      ErrorCode::InvalidArgument,
      "the environment variable PAGEFOLD_CACHE expects disk, memory or off, got '" + word.str() +
          "'");
}

/// Where the user's other caches are (XDG_CACHE_HOME, else .cache at home): empty without a home.
static std::string defaultDirectory() {
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path) || !llvm::sys::path::is_absolute(path))
    return {};
  llvm::sys::path::append(path, "pagefold");
  return path.str().str();
}

static std::string directoryOf(const CompileOptions &options) {
  if (!options.cacheDir.empty())
    return options.cacheDir;
  llvm::StringRef named = variable("PAGEFOLD_CACHE_DIR");
  return named.empty() ? defaultDirectory() : named.str();
}

static runtime::Result<int64_t> maxBytesOf(const CompileOptions &options) {
  if (options.cacheMaxBytes > 0)
    return options.cacheMaxBytes;
  llvm::StringRef text = variable("PAGEFOLD_CACHE_MAX_BYTES");
  int64_t bytes = kDefaultMaxBytes;
  if (!text.empty() && (text.getAsInteger(10, bytes) || bytes <= 0))
    return runtime::fail(
        ErrorCode::InvalidArgument,
        "the environment variable PAGEFOLD_CACHE_MAX_BYTES expects a number above 0, got '" +
            text.str() + "'; PAGEFOLD_CACHE=memory keeps nothing on disk");
  return bytes;
}

runtime::Result<CacheSettings> CacheSettings::of(const CompileOptions &options) {
  runtime::Result<CacheMode> mode = modeOf(options);
  if (!mode)
    return tl::unexpected(mode.error());
  if (*mode != CacheMode::Disk)
    return CacheSettings{*mode, {}, 0};
  runtime::Result<int64_t> maxBytes = maxBytesOf(options);
  if (!maxBytes)
    return tl::unexpected(maxBytes.error());
  return CacheSettings{*mode, directoryOf(options), *maxBytes};
}
