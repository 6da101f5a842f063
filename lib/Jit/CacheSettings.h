//===- CacheSettings.h - where artifacts are kept ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_CACHESETTINGS_H
#define PAGEFOLD_LIB_JIT_CACHESETTINGS_H

#include "pagefold/Pipeline/Options.h"
#include "pagefold/runtime/Error.h"

namespace pagefold::jit {

enum class CacheMode { Disk, Memory, Off };

struct CacheSettings {
  CacheMode mode = CacheMode::Disk; ///< Disk: and memory
  std::string directory;            ///< empty where the environment names no home
  int64_t maxBytes = 0;             ///< of the directory's entries

  /// What the options say, else the environment, else the defaults. A variable that cannot be read
  /// is an InvalidArgument.
  static runtime::Result<CacheSettings> of(const CompileOptions &options);
};

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_CACHESETTINGS_H
