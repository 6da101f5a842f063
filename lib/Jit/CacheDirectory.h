//===- CacheDirectory.h - files that many processes share -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies here becomes code of this process, so that only files count that nobody but this user
// (or root) can have written: the directory, and each file, belongs to one of the two, and nobody
// else may write it. Files appear whole, by a rename, and are never changed.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_CACHEDIRECTORY_H
#define PAGEFOLD_LIB_JIT_CACHEDIRECTORY_H

#include "pagefold/runtime/Error.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace pagefold::jit {

class CacheDirectory {
public:
  /// Makes what is missing of the path. The error says what to do.
  static runtime::Result<CacheDirectory> open(const std::string &path);
  CacheDirectory(CacheDirectory &&other) noexcept
      : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)) {}
  ~CacheDirectory();

  const std::string &getPath() const { return path; }

  /// A file's bytes, or nothing: it is not there, cannot be read, or is not to be trusted. It
  /// counts as used now.
  std::optional<std::string> read(llvm::StringRef name) const;
  /// Puts a file there, over one that was. Readers see the old bytes or the new ones.
  runtime::Status write(llvm::StringRef name, llvm::StringRef bytes) const;
  /// Removes the files named *suffix that have not been used for longest until all of them have at
  /// most `maxBytes`, and what writers that died left. Files of other names stay.
  void trim(llvm::StringRef suffix, int64_t maxBytes) const;

private:
  CacheDirectory(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  runtime::Status check() const;

  std::string path;
  int descriptor; ///< so that a directory put in its place later is not used
};

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_CACHEDIRECTORY_H
