//===- Safetensors.cpp - the .safetensors format --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header's length in 8 bytes, the header (a JSON object from names to dtype, shape and
// data_offsets), and the data, which the tensors cover without holes or overlap.
//
//===----------------------------------------------------------------------===//

#include "pagefold/Support/ArrayFiles.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace pagefold;
using nlohmann::json;
using runtime::ErrorCode;
using runtime::fail;
using runtime::Result;

namespace {
struct DTypeRow {
  std::string_view name;
  DType dtype;
};
constexpr DTypeRow kDTypes[] = {
    {"F32", DType::F32}, {"F16", DType::F16},  {"BF16", DType::BF16}, {"F8_E4M3", DType::F8E4M3},
    {"F64", DType::F64}, {"I8", DType::I8},    {"I32", DType::I32},   {"I64", DType::I64},
    {"U8", DType::U8},   {"BOOL", DType::Bool}};

struct Entry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};
} // namespace

static tl::unexpected<runtime::Error> bad(const std::string &path, const std::string &what) {
  return fail(ErrorCode::BadInput,
              "'" + path + "' is not a .safetensors file that can be read: " + what);
}

/// The unsigned integers of a JSON array; nothing where it is something else or holds something
/// else.
static std::optional<std::vector<uint64_t>> integers(const json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return std::nullopt;
  std::vector<uint64_t> values;
  for (const json &value : *found) {
    if (!value.is_number_unsigned())
      return std::nullopt;
    values.push_back(value.get<uint64_t>());
  }
  return values;
}

static Result<Entry> parseEntry(const std::string &name, const json &object,
                                const std::string &path) {
  auto badEntry = [&](const std::string &what) {
    return bad(path, "tensor '" + name + "' " + what);
  };
  if (!object.is_object())
    return badEntry("expects an object with dtype, shape and data_offsets");
  auto dtype = object.find("dtype");
  std::string dtypeText =
      dtype != object.end() && dtype->is_string() ? dtype->get<std::string>() : "";
  const DTypeRow *row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                     [&](const DTypeRow &row) { return row.name == dtypeText; });
  if (row == std::end(kDTypes))
    return badEntry("expects dtype F32, F16, BF16, F8_E4M3, F64, I8, I32, I64, U8 or BOOL, got '" +
                    dtypeText + "'");
  std::optional<std::vector<uint64_t>> dims = integers(object, "shape"),
                                       offsets = integers(object, "data_offsets");
  if (!dims || !offsets || offsets->size() != 2)
    return badEntry("expects a shape of integers and two data_offsets");
  Entry entry{name, row->dtype, std::vector<int64_t>(dims->begin(), dims->end()), (*offsets)[0],
              (*offsets)[1]};
  std::optional<int64_t> count = elementCount(entry.shape);
  int64_t needed;
  if (!count || __builtin_mul_overflow(*count, dtypeSize(entry.dtype), &needed))
    return badEntry("has more elements than can be counted: shape " + shapeString(entry.shape));
  if (entry.end < entry.begin || entry.end - entry.begin != static_cast<uint64_t>(needed))
    return badEntry("needs " + std::to_string(needed) + " bytes for its shape " +
                    shapeString(entry.shape) + ", got data_offsets [" +
                    std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]");
  return entry;
}

/// The entries of a header in the order of their data, which has to be covered exactly.
static Result<std::vector<Entry>> parseHeader(std::string_view text, uint64_t dataSize,
                                              const std::string &path) {
  json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return bad(path, "its header is not a JSON object");
  std::vector<Entry> entries;
  for (const auto &[name, object] : header.items()) {
    if (name == "__metadata__")
      continue;
    Result<Entry> entry = parseEntry(name, object, path);
    if (!entry)
      return tl::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Entry &entry : entries) {
    if (entry.begin != at)
      return bad(path, "tensor '" + entry.name + "' starts at byte " + std::to_string(entry.begin) +
                           " of the data, expects " + std::to_string(at) +
                           " (no holes and no overlap)");
    at = entry.end;
  }
  if (at != dataSize)
    return bad(path, "its tensors take " + std::to_string(at) + " bytes of data, got " +
                         std::to_string(dataSize));
  return entries;
}

Result<std::vector<NamedArray>> pagefold::parseSafetensors(std::string_view bytes,
                                                           const std::string &path) {
  if (bytes.size() < 8)
    return bad(path, "it ends within its header's length, after " + std::to_string(bytes.size()) +
                         " bytes");
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (length > bytes.size() - 8)
    return bad(path, "its header of " + std::to_string(length) + " bytes ends past the file's " +
                         std::to_string(bytes.size()));
  std::string_view data = bytes.substr(8 + length);
  Result<std::vector<Entry>> entries = parseHeader(bytes.substr(8, length), data.size(), path);
  if (!entries)
    return tl::unexpected(entries.error());
  std::vector<NamedArray> arrays;
  for (Entry &entry : *entries) {
    Result<Array> array = Array::make(entry.dtype, std::move(entry.shape));
    if (!array)
      return fail(array.error().code(), "'" + path + "': " + array.error().message());
    if (array->size())
      std::memcpy(array->data(), data.data() + entry.begin, entry.end - entry.begin);
    arrays.push_back({std::move(entry.name), std::move(*array)});
  }
  return arrays;
}

Result<std::vector<NamedArray>> pagefold::readSafetensors(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes)
    return tl::unexpected(bytes.error());
  return parseSafetensors(*bytes, path);
}

Result<std::string> pagefold::safetensorsBytes(std::span<const NamedArray> arrays) {
  json header = json::object();
  std::string data;
  for (const NamedArray &named : arrays) {
    Result<Array> packed =
        named.array.isContiguous() ? Result<Array>(named.array) : named.array.clone();
    if (!packed)
      return tl::unexpected(packed.error());
    const DTypeRow *row =
        std::find_if(std::begin(kDTypes), std::end(kDTypes),
                     [&](const DTypeRow &row) { return row.dtype == packed->dtype(); });
    size_t begin = data.size();
    if (packed->size())
      data.append(reinterpret_cast<const char *>(packed->data()), packed->sizeInBytes());
    header[named.name] = {
        {"dtype", row->name}, {"shape", packed->shape()}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // the data starts at a multiple of 8 bytes
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i));
  return bytes + text + data;
}
