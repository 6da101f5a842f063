//===- ArtifactCache.h - artifacts that were compiled before ----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_ARTIFACTCACHE_H
#define PAGEFOLD_LIB_JIT_ARTIFACTCACHE_H

#include "CacheDirectory.h"
#include "CacheEntry.h"
#include "CacheSettings.h"

namespace pagefold::jit {

/// The process's memory, and behind it the directory that options and environment name. A directory
/// that cannot be used is no error: it goes without, and the remark says so.
class ArtifactCache {
public:
  static runtime::Result<ArtifactCache> open(const CompileOptions &options);

  bool isOff() const { return settings.mode == CacheMode::Off; }
  std::optional<Compiled> find(const CompileKey &key);
  void keep(const CompileKey &key, const Compiled &compiled);
  /// What became of the artifact, as a line of remarks.
  std::string remark() const;

private:
  explicit ArtifactCache(CacheSettings settings) : settings(std::move(settings)) {}
  void openDirectory();
  void keepOnDisk(const CompileKey &key, const Compiled &compiled);

  CacheSettings settings;
  std::optional<CacheDirectory> directory;
  std::string outcome; ///< "found in memory"
  std::string problem; ///< why the directory is not used, and what to do
};

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_ARTIFACTCACHE_H
