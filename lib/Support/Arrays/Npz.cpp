//===- Npz.cpp - archives of .npy files -----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZipMemory.h"
#include "pagefold/Support/ArrayFiles.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

using namespace pagefold;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

namespace {
struct CloseReader {
  void operator()(unzFile archive) const { unzClose(archive); }
};
struct CloseWriter {
  void operator()(zipFile archive) const { zipClose(archive, nullptr); }
};
using Reader = std::unique_ptr<std::remove_pointer_t<unzFile>, CloseReader>;
using Writer = std::unique_ptr<std::remove_pointer_t<zipFile>, CloseWriter>;
} // namespace

/// Sizes and offsets of 32 bits. minizip 1.1 does not take the 64-bit ones of an entry.
static constexpr uint64_t kSizeLimit = 0xffffffff, kEntryLimit = 0xffff;
/// Of an entry's local header, its header in the directory, and the record at the archive's end.
static constexpr size_t kLocalSize = 30, kHeaderSize = 46, kEndSize = 22;
static constexpr uLong kEncrypted = 1, kUtf8 = 1 << 11, kStored = 0;

static tl::unexpected<runtime::Error> bad(const std::string &path, const std::string &what) {
  return fail(ErrorCode::BadInput, "'" + path + "' is not a .npz file that can be read: " + what);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// An entry, as the archive's directory has it.
struct Entry {
  std::string name;
  unz_file_info64 info;
};
} // namespace

static Result<Entry> currentEntry(unzFile archive, const std::string &path) {
  Entry entry;
  char name[1 << 16]; // more than a length of 16 bits
  if (unzGetCurrentFileInfo64(archive, &entry.info, name, sizeof(name), nullptr, 0, nullptr, 0) !=
      UNZ_OK)
    return bad(path, "its directory is damaged");
  entry.name.assign(name, entry.info.size_filename);
  if (!entry.name.ends_with(".npy"))
    return bad(path, "expects entries named '<array>.npy', got '" + entry.name + "'");
  return entry;
}

/// The uncompressed bytes of the current entry. What the archive says of their number is compared,
/// not believed.
static Result<std::string> entryBytes(unzFile archive, const Entry &entry,
                                      const std::string &path) {
  auto damaged = [&](const std::string &what) {
    return bad(path, "entry '" + entry.name + "' " + what);
  };
  const unz_file_info64 &info = entry.info;
  if (info.flag & kEncrypted)
    return damaged("is encrypted");
  if (info.compression_method != kStored && info.compression_method != Z_DEFLATED)
    return damaged("is neither stored nor deflated, but packed by method " +
                   std::to_string(info.compression_method));
  if (info.compressed_size >= kSizeLimit || info.uncompressed_size >= kSizeLimit)
    return damaged("has 4 GiB or more; a .npy or .safetensors file may");
  if (unzOpenCurrentFile(archive) != UNZ_OK)
    return damaged("is not where the directory says");
  std::string bytes;
  char piece[1 << 16];
  int got;
  while ((got = unzReadCurrentFile(archive, piece, sizeof(piece))) > 0)
    bytes.append(piece, got);
  bool sound = unzCloseCurrentFile(archive) == UNZ_OK;
  if (got < 0 || bytes.size() != info.uncompressed_size)
    return damaged("is damaged after " + std::to_string(bytes.size()) + " of " +
                   std::to_string(info.uncompressed_size) + " bytes");
  if (!sound)
    return damaged("has a wrong checksum");
  return bytes;
}

/// Whether the directory's end follows its last entry, the current one. minizip asks no more than
/// the number of entries, so that those past a wrong number would be lost.
static bool endsAfter(unzFile archive, const Entry &last, std::string_view bytes) {
  size_t end = unzGetOffset64(archive) + kHeaderSize + last.info.size_filename +
               last.info.size_file_extra + last.info.size_file_comment;
  if (end > bytes.size())
    return false;
  std::string_view signature = bytes.substr(end, 4);
  return signature == "PK\5\6" || signature == "PK\6\6"; // the latter with sizes of 64 bits
}

static Result<std::vector<NamedArray>> readEntries(unzFile archive, std::string_view bytes,
                                                   const std::string &path) {
  std::vector<NamedArray> arrays;
  unz_global_info64 directory;
  unzGetGlobalInfo64(archive, &directory);
  for (uint64_t i = 0; i < directory.number_entry; ++i) {
    if ((i == 0 ? unzGoToFirstFile(archive) : unzGoToNextFile(archive)) != UNZ_OK)
      return bad(path, "its directory is damaged after " + std::to_string(i) + " of " +
                           std::to_string(directory.number_entry) + " entries");
    Result<Entry> entry = currentEntry(archive, path);
    if (!entry)
      return tl::unexpected(entry.error());
    Result<std::string> contents = entryBytes(archive, *entry, path);
    if (!contents)
      return tl::unexpected(contents.error());
    Result<Array> array = parseNpy(*contents, path + ":" + entry->name);
    if (!array)
      return tl::unexpected(array.error());
    if (i + 1 == directory.number_entry && !endsAfter(archive, *entry, bytes))
      return bad(path, "its directory does not end after the " + std::to_string(i + 1) +
                           " entries that it says it has");
    arrays.push_back({entry->name.substr(0, entry->name.size() - 4), std::move(*array)});
  }
  return arrays;
}

Result<std::vector<NamedArray>> pagefold::readNpz(const std::string &path) {
  // Read here first, so that a file that is not there is told as for the other formats.
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return tl::unexpected(bytes.error());
  if (bytes->size() >= kSizeLimit)
    return bad(path, "expects under 4 GiB, got " + std::to_string(bytes->size()) +
                         " bytes; a .npy or .safetensors file may have more");
  // minizip does not find the directory of an archive that has nothing else.
  if (*bytes == "PK\5\6" + std::string(kEndSize - 4, '\0'))
    return std::vector<NamedArray>();
  ZipMemory memory(std::move(*bytes));
  zlib_filefunc64_def functions = memory.functions();
  Reader archive(unzOpen2_64(nullptr, &functions));
  if (!archive)
    return bad(path, "no directory of a zip archive at its end");
  return readEntries(archive.get(), memory.bytes(), path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Adds one stored (not deflated) entry.
static bool addEntry(zipFile archive, const std::string &name, std::string_view bytes) {
  zip_fileinfo info{};
  info.dosDate = ((1 << 5) | 1) << 16; // the first of January 1980: equal arrays give equal files
  constexpr uLong kMadeBy = 20;        // version 2.0 of the format, on no system in particular
  return zipOpenNewFileInZip4(archive, name.c_str(), &info, nullptr, 0, nullptr, 0,
                              /*comment=*/nullptr, kStored, /*level=*/0, /*raw=*/0, -MAX_WBITS,
                              DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, /*password=*/nullptr,
                              /*crcForCrypting=*/0, kMadeBy, kUtf8) == ZIP_OK &&
         zipWriteInFileInZip(archive, bytes.data(), static_cast<unsigned>(bytes.size())) ==
             ZIP_OK &&
         zipCloseFileInZip(archive) == ZIP_OK;
}

Result<std::string> pagefold::npzBytes(std::span<const NamedArray> arrays) {
  auto failed = [](const std::string &what) {
    return fail(ErrorCode::InvalidArgument, "cannot build a .npz archive: " + what);
  };
  if (arrays.size() >= kEntryLimit)
    return failed("expects fewer than 65535 arrays, got " + std::to_string(arrays.size()));
  ZipMemory memory;
  zlib_filefunc64_def functions = memory.functions();
  Writer archive(zipOpen2_64(nullptr, APPEND_STATUS_CREATE, nullptr, &functions));
  if (!archive)
    return failed("out of memory");
  uint64_t total = kEndSize;
  for (const NamedArray &named : arrays) {
    Result<std::string> bytes = npyBytes(named.array);
    if (!bytes)
      return tl::unexpected(bytes.error());
    total += kLocalSize + kHeaderSize + 2 * (named.name.size() + 4) + bytes->size();
    if (total >= kSizeLimit)
      return failed("expects under 4 GiB in all; a .npy or .safetensors file may have more");
    if (!addEntry(archive.get(), named.name + ".npy", *bytes))
      return failed("array '" + named.name + "' cannot be added");
  }
  if (zipClose(archive.release(), nullptr) != ZIP_OK)
    return failed("its directory cannot be written");
  return std::move(memory.bytes());
}
