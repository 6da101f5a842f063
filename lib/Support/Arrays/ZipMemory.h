//===- ZipMemory.h - a zip archive in memory --------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// minizip reads and writes archives through functions for files; these are for a string of bytes.
// No position outside the archive is taken, however its numbers lie, and none is allocated for.
//
//   ZipMemory memory(std::move(bytes));
//   zlib_filefunc64_def functions = memory.functions();
//   unzFile archive = unzOpen2_64(nullptr, &functions); // `memory` lives until unzClose
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_SUPPORT_ARRAYS_ZIPMEMORY_H
#define PAGEFOLD_LIB_SUPPORT_ARRAYS_ZIPMEMORY_H

#include <minizip/ioapi.h>

#include <cstdint>
#include <string>

namespace pagefold {

class ZipMemory {
public:
  /// An archive to read, or one of no bytes to write.
  explicit ZipMemory(std::string bytes = {}) : bytes_(std::move(bytes)) {}
  ZipMemory(const ZipMemory &) = delete; // functions() has its address
  ZipMemory &operator=(const ZipMemory &) = delete;

  zlib_filefunc64_def functions();

  std::string &bytes() { return bytes_; }

private:
  static voidpf open(voidpf memory, const void *name, int mode);
  static uLong read(voidpf memory, voidpf, void *to, uLong size);
  static uLong write(voidpf memory, voidpf, const void *from, uLong size);
  static ZPOS64_T tell(voidpf memory, voidpf);
  static long seek(voidpf memory, voidpf, ZPOS64_T offset, int origin);
  static int close(voidpf memory, voidpf);
  static int failed(voidpf memory, voidpf);

  std::string bytes_;
  uint64_t at_ = 0;
  bool failed_ = false; ///< the last read went past the end
};

} // namespace pagefold

#endif // PAGEFOLD_LIB_SUPPORT_ARRAYS_ZIPMEMORY_H
