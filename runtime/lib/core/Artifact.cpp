//===- Artifact.cpp - the bytes of an artifact ----------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Artifact.h"

#include "PlanJson.h"

#include <array>
#include <cstring>

using namespace pagefold::runtime;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {
struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t size;
};
constexpr std::array<DTypeRow, 10> kDTypes = {{{DType::F32, "f32", 4},
                                               {DType::F16, "f16", 2},
                                               {DType::BF16, "bf16", 2},
                                               {DType::F8E4M3, "f8e4m3", 1},
                                               {DType::F64, "f64", 8},
                                               {DType::I8, "i8", 1},
                                               {DType::U8, "u8", 1},
                                               {DType::I32, "i32", 4},
                                               {DType::I64, "i64", 8},
                                               {DType::Bool, "bool", 1}}};
static_assert(kDTypes[static_cast<size_t>(DType::Bool)].dtype == DType::Bool,
              "rows stand in the order of the enumeration");
} // namespace

std::string_view pagefold::runtime::dtypeName(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].name;
}

int64_t pagefold::runtime::dtypeSize(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].size;
}

std::optional<DType> pagefold::runtime::dtypeFromName(std::string_view name) {
  for (const DTypeRow &row : kDTypes)
    if (row.name == name)
      return row.dtype;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The container: magic, version, plan size, plan, padding, code, checksum
//===----------------------------------------------------------------------===//

namespace {
constexpr std::string_view kMagic = "PAGEFOLD";
constexpr size_t kHeaderSize = 16;
constexpr size_t kChecksumSize = 8;
constexpr size_t kCodeAlignment = 64;

constexpr size_t alignUp(size_t value) {
  return (value + kCodeAlignment - 1) & ~(kCodeAlignment - 1);
}

// Little-endian whatever the machine is.
template <typename T> void appendInteger(std::string &bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T> T readInteger(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

tl::unexpected<Error> damaged(std::string what) {
  return fail(ErrorCode::BadInput, "cannot load the artifact: " + std::move(what));
}

/// Everything before the plan's contents: what can be wrong with a file as a file. Gives the
/// plan's size.
Result<size_t> checkContainer(std::string_view bytes) {
  if (bytes.size() < kHeaderSize + kChecksumSize)
    return damaged("expects at least " + std::to_string(kHeaderSize + kChecksumSize) +
                   " bytes, got " + std::to_string(bytes.size()));
  if (bytes.substr(0, kMagic.size()) != kMagic)
    return damaged("expects the bytes to begin with 'PAGEFOLD'; give what the compiler wrote");
  uint32_t version = readInteger<uint32_t>(bytes, kMagic.size());
  if (version != kArtifactVersion)
    return damaged("expects format version " + std::to_string(kArtifactVersion) + ", got " +
                   std::to_string(version) + "; compile it with the compiler of this runtime");
  size_t end = bytes.size() - kChecksumSize;
  if (checksum(bytes.substr(0, end)) != readInteger<uint64_t>(bytes, end))
    return damaged("its checksum expects other bytes than these " + std::to_string(bytes.size()) +
                   "; it was cut or changed after it was written, copy or compile it again");
  size_t planSize = readInteger<uint32_t>(bytes, kMagic.size() + 4);
  if (alignUp(kHeaderSize + planSize) > end)
    return damaged("expects a plan of " + std::to_string(planSize) + " bytes in a file of " +
                   std::to_string(bytes.size()));
  return planSize;
}
} // namespace

uint64_t pagefold::runtime::checksum(std::string_view bytes) {
  // Every step is a bijection of the state, so a single changed byte always changes the result.
  uint64_t state = 0xcbf29ce484222325ull;
  for (char byte : bytes)
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3ull;
  return state;
}

Result<std::string> pagefold::runtime::serialize(const Plan &plan,
                                                 std::span<const CodeSection> code) {
  if (Status status = verify(plan); !status)
    return tl::unexpected(status.error());
  std::string text = planToJson(plan, placeCode(code, kCodeAlignment));
  if (text.size() > UINT32_MAX)
    return fail(ErrorCode::Unsupported, "cannot write an artifact with a plan of " +
                                            std::to_string(text.size()) +
                                            " bytes: expects < 4 GiB");

  std::string bytes(kMagic);
  appendInteger<uint32_t>(bytes, kArtifactVersion);
  appendInteger<uint32_t>(bytes, static_cast<uint32_t>(text.size()));
  bytes += text;
  bytes.resize(alignUp(bytes.size()));
  for (const CodeSection &section : code) {
    bytes += section.bytes;
    bytes.resize(alignUp(bytes.size()));
  }
  appendInteger<uint64_t>(bytes, checksum(bytes));
  return bytes;
}

Result<Artifact> pagefold::runtime::parse(std::string_view bytes) {
  Result<size_t> planSize = checkContainer(bytes);
  if (!planSize)
    return tl::unexpected(planSize.error());
  Result<ParsedPlan> parsed = planFromJson(bytes.substr(kHeaderSize, *planSize));
  if (!parsed)
    return damaged(parsed.error().message());
  if (Status status = verify(parsed->plan); !status)
    return damaged(status.error().message());

  Artifact artifact{std::move(parsed->plan), {}};
  size_t base = alignUp(kHeaderSize + *planSize);
  size_t available = bytes.size() - kChecksumSize - base;
  for (const CodePlace &place : parsed->code) {
    if (place.offset > available || place.size > available - place.offset)
      return damaged("expects code at [" + std::to_string(place.offset) + ", + " +
                     std::to_string(place.size) + ") within " + std::to_string(available) +
                     " bytes of code");
    artifact.code.push_back({place.kind, bytes.substr(base + place.offset, place.size)});
  }
  return artifact;
}
