//===- ArtifactCache.cpp - artifacts that were compiled before ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArtifactCache.h"
#include "CompilerIdentity.h"
#include "MemoryCache.h"

using namespace pagefold;
using namespace pagefold::jit;

static constexpr llvm::StringLiteral kSuffix = ".artifact";
static constexpr llvm::StringLiteral kAdvice =
    "; set PAGEFOLD_CACHE_DIR to a directory of your own, or PAGEFOLD_CACHE to memory";

static std::string fileOf(const CompileKey &key) { return key.hex() + kSuffix.str(); }

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

runtime::Result<ArtifactCache> ArtifactCache::open(const CompileOptions &options) {
  runtime::Result<CacheSettings> settings = CacheSettings::of(options);
  if (!settings)
    return tl::unexpected(settings.error());
  return ArtifactCache(std::move(*settings));
}

void ArtifactCache::openDirectory() {
  if (compilerIdentity().empty()) {
    problem =
        "the compiler, LLVM or MLIR has no build id that would tell a stale artifact; link it "
        "with --build-id";
    return;
  }
  if (settings.directory.empty()) {
    problem = "neither XDG_CACHE_HOME nor HOME names an absolute path; set PAGEFOLD_CACHE_DIR";
    return;
  }
  runtime::Result<CacheDirectory> opened = CacheDirectory::open(settings.directory);
  if (opened)
    directory.emplace(std::move(*opened));
  else
    problem = opened.error().message() + kAdvice.str();
}

//===----------------------------------------------------------------------===//
// Finding and keeping
//===----------------------------------------------------------------------===//

std::optional<Compiled> ArtifactCache::find(const CompileKey &key) {
  outcome = "found in memory";
  if (std::optional<Compiled> found = MemoryCache::ofProcess().find(key))
    return found;
  outcome = "compiled";
  if (settings.mode == CacheMode::Disk)
    openDirectory();
  std::optional<std::string> bytes = directory ? directory->read(fileOf(key)) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  std::optional<Compiled> found = readEntry(key, *bytes);
  if (!found) {
    outcome = "compiled again, as the artifact in " + directory->getPath() + " was damaged";
    return std::nullopt;
  }
  outcome = "found in " + directory->getPath();
  MemoryCache::ofProcess().keep(key, *found);
  return found;
}

void ArtifactCache::keep(const CompileKey &key, const Compiled &compiled) {
  MemoryCache::ofProcess().keep(key, compiled);
  if (directory)
    keepOnDisk(key, compiled);
}

void ArtifactCache::keepOnDisk(const CompileKey &key, const Compiled &compiled) {
  const std::string bytes = writeEntry(key, compiled);
  if (static_cast<int64_t>(bytes.size()) > settings.maxBytes) {
    problem = "its " + std::to_string(bytes.size()) + " bytes are more than the " +
              std::to_string(settings.maxBytes) + " that " + directory->getPath() +
              " may hold; set PAGEFOLD_CACHE_MAX_BYTES to more";
    return;
  }
  if (runtime::Status status = directory->write(fileOf(key), bytes); !status) {
    problem = status.error().message() + kAdvice.str();
    return;
  }
  directory->trim(kSuffix, settings.maxBytes);
  outcome += ", kept in " + directory->getPath();
}

std::string ArtifactCache::remark() const {
  if (problem.empty())
    return "Analysis artifact-cache: " + outcome + "\n";
  return "Missed artifact-cache: " + outcome + ", kept in memory only: " + problem + "\n";
}
