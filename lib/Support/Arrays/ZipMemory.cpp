//===- ZipMemory.cpp - a zip archive in memory ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZipMemory.h"

#include <algorithm>
#include <cstring>

using namespace pagefold;

static ZipMemory &of(voidpf memory) { return *static_cast<ZipMemory *>(memory); }

zlib_filefunc64_def ZipMemory::functions() {
  return {open, read, write, tell, seek, close, failed, this};
}

voidpf ZipMemory::open(voidpf memory, const void *, int) {
  of(memory).at_ = 0;
  return memory;
}

uLong ZipMemory::read(voidpf memory, voidpf, void *to, uLong size) {
  ZipMemory &m = of(memory);
  uint64_t got = std::min<uint64_t>(size, m.bytes_.size() - m.at_);
  std::memcpy(to, m.bytes_.data() + m.at_, got);
  m.at_ += got;
  m.failed_ = got < size;
  return got;
}

uLong ZipMemory::write(voidpf memory, voidpf, const void *from, uLong size) {
  ZipMemory &m = of(memory);
  m.bytes_.resize(std::max<uint64_t>(m.bytes_.size(), m.at_ + size));
  std::memcpy(m.bytes_.data() + m.at_, from, size);
  m.at_ += size;
  return size;
}

ZPOS64_T ZipMemory::tell(voidpf memory, voidpf) { return of(memory).at_; }

long ZipMemory::seek(voidpf memory, voidpf, ZPOS64_T offset, int origin) {
  ZipMemory &m = of(memory);
  uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                  : origin == ZLIB_FILEFUNC_SEEK_CUR ? m.at_
                                                     : m.bytes_.size();
  uint64_t to = from + offset; // modulo 2^64: minizip goes back by large offsets
  if (to > m.bytes_.size())
    return -1;
  m.at_ = to;
  return 0;
}

int ZipMemory::close(voidpf, voidpf) { return 0; }

int ZipMemory::failed(voidpf memory, voidpf) { return of(memory).failed_; }
