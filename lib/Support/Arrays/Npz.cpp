//===- Npz.cpp - archives of .npy files -----------------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/ArrayFiles.h"

#include <zip.h>

using namespace pagefold;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

namespace {
struct ArchiveDiscard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct FileClose {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
struct SourceFree {
  void operator()(zip_source_t *source) const { zip_source_free(source); }
};
} // namespace
using Archive = std::unique_ptr<zip_t, ArchiveDiscard>;
using ArchiveFile = std::unique_ptr<zip_file_t, FileClose>;
using Source = std::unique_ptr<zip_source_t, SourceFree>;

static tl::unexpected<runtime::Error> bad(const std::string &path, const std::string &what) {
  return fail(ErrorCode::BadInput, "'" + path + "' is not a .npz file that can be read: " + what);
}

static std::string zipError(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// The uncompressed bytes of an entry. What the archive says of their number is not believed.
static Result<std::string> entryBytes(zip_t *archive, zip_uint64_t index, const std::string &path) {
  ArchiveFile file(zip_fopen_index(archive, index, 0));
  if (!file)
    return bad(path, "entry " + std::to_string(index) + ": " + zip_strerror(archive));
  std::string bytes;
  char piece[1 << 16];
  zip_int64_t got;
  while ((got = zip_fread(file.get(), piece, sizeof(piece))) > 0)
    bytes.append(piece, got);
  if (got < 0)
    return bad(path, "entry " + std::to_string(index) + ": " + zip_file_strerror(file.get()));
  return bytes;
}

Result<std::vector<NamedArray>> pagefold::readNpz(const std::string &path) {
  // Read here first, so that a file that is not there is told as for the other formats.
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return tl::unexpected(bytes.error());
  if (bytes->empty()) // libzip takes it for an archive of nothing
    return bad(path, "it is empty");
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(bytes->data(), bytes->size(), 0, &error));
  Archive archive(source ? zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, &error)
                         : nullptr);
  std::string problem = archive ? "" : zip_error_strerror(&error);
  zip_error_fini(&error);
  if (!archive)
    return bad(path, problem);
  source.release(); // the archive owns it now

  std::vector<NamedArray> arrays;
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *name = zip_get_name(archive.get(), i, ZIP_FL_ENC_GUESS);
    std::string entry = name ? name : "";
    if (!entry.ends_with(".npy"))
      return bad(path, "expects entries named '<array>.npy', got '" + entry + "'");
    Result<std::string> contents = entryBytes(archive.get(), i, path);
    if (!contents)
      return tl::unexpected(contents.error());
    Result<Array> array = parseNpy(*contents, path + ":" + entry);
    if (!array)
      return tl::unexpected(array.error());
    arrays.push_back({entry.substr(0, entry.size() - 4), std::move(*array)});
  }
  return arrays;
}

/// Adds one stored (not deflated) entry. `bytes` lives until the archive is closed.
static bool addEntry(zip_t *archive, const std::string &name, const std::string &bytes) {
  Source source(zip_source_buffer(archive, bytes.data(), bytes.size(), 0));
  zip_int64_t index =
      source ? zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0)
    return false;
  source.release();
  // A fixed date: equal arrays give equal files.
  return zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, index, 0, (1 << 5) | 1, 0) == 0;
}

/// The bytes that were written to a source.
static std::string sourceBytes(zip_source_t *source) {
  std::string bytes;
  if (zip_source_open(source) != 0)
    return bytes;
  char piece[1 << 16];
  zip_int64_t got;
  while ((got = zip_source_read(source, piece, sizeof(piece))) > 0)
    bytes.append(piece, got);
  zip_source_close(source);
  return bytes;
}

Result<std::string> pagefold::npzBytes(std::span<const NamedArray> arrays) {
  std::vector<std::string> entries;
  for (const NamedArray &named : arrays) {
    Result<std::string> bytes = npyBytes(named.array);
    if (!bytes)
      return tl::unexpected(bytes.error());
    entries.push_back(std::move(*bytes));
  }
  auto failed = [](const std::string &why) {
    return fail(ErrorCode::Internal, "cannot build a .npz archive: " + why);
  };
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(nullptr, 0, 0, &error));
  Archive archive(source ? zip_open_from_source(source.get(), ZIP_TRUNCATE, &error) : nullptr);
  if (!archive)
    return failed(zipError(zip_error_code_zip(&error)));
  zip_source_keep(source.get()); // one reference for the archive, one to read the bytes by
  for (size_t i = 0; i < arrays.size(); ++i)
    if (!addEntry(archive.get(), arrays[i].name + ".npy", entries[i]))
      return failed(zip_strerror(archive.get()));
  if (zip_close(archive.get()) != 0)
    return failed(zip_strerror(archive.get()));
  archive.release(); // closing freed it
  return sourceBytes(source.get());
}
