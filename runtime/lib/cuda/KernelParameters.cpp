//===- KernelParameters.cpp - the values that a CUDA kernel is given ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"

#include "../core/PlanRules.h"
#include "PageView.h"
#include "pagefold/runtime/Launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace pagefold::runtime;

// Words of a tensor: address, address, 0, extents, strides.
static constexpr size_t kExtentWords = 3;

//===----------------------------------------------------------------------===//
// Once for each kernel
//===----------------------------------------------------------------------===//

KernelParameters::KernelParameters(const FunctionPlan &function, const KernelPlan &kernel,
                                   const ArgumentBinder &binder, uint64_t firstMap)
    : function_(function), firstMap_(firstMap) {
  for (const ParameterPlan &parameter : kernel.cuda->params)
    entries_.push_back(makeEntry(parameter, binder));
}

KernelParameters::Entry KernelParameters::makeEntry(const ParameterPlan &parameter,
                                                    const ArgumentBinder &binder) {
  ParameterSize size = parameterSize(function_, parameter);
  auto alignment = static_cast<size_t>(size.alignment);
  size_t place = (bytes_ + alignment - 1) / alignment * alignment;
  bytes_ = place + static_cast<size_t>(size.bytes);
  Entry entry{parameter.kind, place, static_cast<size_t>(size.bytes), 0, 0, 0};
  auto arg = static_cast<size_t>(parameter.arg), dim = static_cast<size_t>(parameter.dim);
  switch (parameter.kind) {
  case Kind::Map:
    entry.number = maps_.size();
    maps_.push_back(makeMap(parameter, binder));
    break;
  case Kind::PageMap:
    entry.number = maps_.size();
    maps_.push_back(makePageMap(parameter, binder));
    break;
  case Kind::PageStep:
    entry.word = binder.firstWord(arg) + kExtentWords;
    entry.add = static_cast<int64_t>(parameter.of);
    entry.number = arg;
    break;
  case Kind::Pointer:
  case Kind::Scalar:
    entry.word = binder.firstWord(arg);
    break;
  case Kind::Extent:
    entry.word = binder.firstWord(arg) + kExtentWords + dim;
    entry.add = parameter.add;
    entry.number = arg;
    break;
  case Kind::Stride:
    entry.word = binder.firstWord(arg) + kExtentWords + function_.args[arg].shape.size() + dim;
    break;
  case Kind::Workspace:
    entry.add = parameter.offset;
    break;
  case Kind::Constant:
    entry.add = parameter.bits;
    break;
  case Kind::ErrorWord:
  case Kind::Frame:
    break;
  }
  return entry;
}

KernelParameters::Map KernelParameters::makeMap(const ParameterPlan &parameter,
                                                const ArgumentBinder &binder) const {
  Map map{};
  map.arg = static_cast<size_t>(parameter.arg);
  map.parameter = firstMap_ + maps_.size();
  map.addressWord = binder.firstWord(map.arg);
  map.rank = function_.args[map.arg].shape.size();
  map.workspace = parameter.workspace;
  map.recipe.element = parameter.element;
  map.recipe.readOnce = parameter.readOnce;
  size_t extents = map.addressWord + kExtentWords, strides = extents + map.rank;
  for (size_t i = 0; i < parameter.dims.size(); ++i) {
    const MapDimension &dimension = parameter.dims[i];
    map.recipe.box.push_back(static_cast<uint32_t>(parameter.box[i]));
    map.extents[i] = dimension.extent
                         ? Number{true, *dimension.extent, 1}
                         : Number{false, static_cast<int64_t>(extents) + *dimension.extentOf, 1};
    if (i == 0)
      continue;
    if (dimension.stride) {
      map.strides[i - 1] = {true, *dimension.stride, 1};
      continue;
    }
    map.strides[i - 1] = {false, static_cast<int64_t>(strides) + *dimension.strideOf,
                          static_cast<uint64_t>(dtypeSize(parameter.element))};
    map.strideExtents[i - 1] = extents + static_cast<size_t>(*dimension.strideOf);
  }
  return map;
}

KernelParameters::Map KernelParameters::makePageMap(const ParameterPlan &parameter,
                                                    const ArgumentBinder &binder) const {
  Map map = makeMap(parameter, binder); // without dimensions
  map.pages = true;
  map.recipe.box = {static_cast<uint32_t>(kPanelElements), static_cast<uint32_t>(kSwizzleRows),
                    static_cast<uint32_t>(parameter.panels),
                    static_cast<uint32_t>(parameter.boxRows / kSwizzleRows), 1};
  return map;
}

//===----------------------------------------------------------------------===//
// At each launch
//===----------------------------------------------------------------------===//

template <typename T> static void put(std::byte *to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

uint64_t KernelParameters::Number::from(const std::vector<int64_t> &words) const {
  if (fixed)
    return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(words[static_cast<size_t>(value)]) * scale;
}

static bool isEmpty(const int64_t *extents, size_t rank) {
  return std::find(extents, extents + rank, 0) != extents + rank;
}

/// Says whose argument it is.
tl::unexpected<Error> KernelParameters::refuse(size_t arg, const Error &error) const {
  return fail(error.code(), "function '" + function_.name + "', argument " + std::to_string(arg) +
                                " '" + function_.args[arg].name + "': " + error.message());
}

Result<TensorMapKey> KernelParameters::keyOf(const Map &map, const LaunchValues &values) const {
  const std::vector<int64_t> &words = values.words;
  const int64_t *extents = &words[map.addressWord + kExtentWords];
  size_t rank = map.recipe.box.size();
  TensorMapKey key;
  key.parameter = map.parameter;
  if (isEmpty(extents, map.rank)) {
    // No kernel touches such a tensor, but a map must have a place: one element of the error word.
    key.address = values.errorWord;
    std::fill_n(key.extents.begin(), rank, 1);
    std::fill_n(key.strides.begin(), rank - 1, TensorMapKey::kUnusedStride);
    return key;
  }
  key.address = map.workspace ? values.workspace + static_cast<uint64_t>(*map.workspace)
                              : static_cast<uint64_t>(words[map.addressWord]);
  if (map.pages) {
    Result<PageView> view = viewPages(std::span<const int64_t, 8>(extents, 8));
    if (!view)
      return tl::unexpected(view.error());
    key.extents = view->extents;
    key.strides = view->strides;
    return key;
  }
  for (size_t i = 0; i < rank; ++i)
    key.extents[i] = map.extents[i].from(words);
  for (size_t i = 0; i + 1 < rank; ++i) {
    // Libraries give any stride to a dimension of one element: it is never used.
    bool unused = !map.strides[i].fixed && words[map.strideExtents[i]] == 1;
    key.strides[i] = unused ? TensorMapKey::kUnusedStride : map.strides[i].from(words);
  }
  return key;
}

Status KernelParameters::fillMap(const CudaDriver &driver, const LaunchValues &values,
                                 const Map &map, TensorMapCache &cache, std::byte *to) const {
  Result<TensorMapKey> key = keyOf(map, values);
  if (!key)
    return refuse(map.arg, key.error());
  Result<const TensorMap *> encoded = cache.get(driver, *key, map.recipe);
  if (!encoded)
    return refuse(map.arg, encoded.error());
  std::memcpy(to, *encoded, sizeof(TensorMap));
  return {};
}

Status KernelParameters::fillExtent(const Entry &entry, const LaunchValues &values,
                                    std::byte *to) const {
  int64_t extent = values.words[entry.word];
  if (__builtin_add_overflow(extent, entry.add, &extent) ||
      extent > std::numeric_limits<int32_t>::max() || extent < std::numeric_limits<int32_t>::min())
    return refuse(entry.number,
                  {ErrorCode::InvalidArgument, "expects an extent below 2^31 on a GPU, got " +
                                                   std::to_string(values.words[entry.word]) +
                                                   "; launch in parts"});
  put(to, static_cast<int32_t>(extent));
  return {};
}

Status KernelParameters::fillPageStep(const Entry &entry, const LaunchValues &values,
                                      std::byte *to) const {
  const int64_t *extents = &values.words[entry.word];
  if (isEmpty(extents, function_.args[entry.number].shape.size())) {
    put(to, int32_t(0)); // no kernel has work in it
    return {};
  }
  Result<PageView> view = viewPages(std::span<const int64_t, 8>(extents, 8));
  if (!view)
    return refuse(entry.number, view.error());
  put(to, view->step[static_cast<size_t>(entry.add)]);
  return {};
}

void KernelParameters::fillFrame(const LaunchValues &values, std::byte *to) const {
  size_t bytes = values.words.size() * sizeof(int64_t);
  std::memcpy(to, values.words.data(), bytes);
  auto workspace = static_cast<int64_t>(values.workspace);
  const int64_t trailing[] = {workspace, workspace, 0, function_.workspaceSize, 1};
  static_assert(std::size(trailing) == tensorWords(1));
  std::memcpy(to + bytes, trailing, sizeof(trailing));
}

Status KernelParameters::fill(const CudaDriver &driver, const LaunchValues &values,
                              TensorMapCache &cache, std::byte *buffer, void **pointers) const {
  for (const Entry &entry : entries_) {
    std::byte *to = buffer + entry.place;
    *pointers++ = to;
    Status status;
    switch (entry.kind) {
    case Kind::Map:
    case Kind::PageMap:
      status = fillMap(driver, values, maps_[entry.number], cache, to);
      break;
    case Kind::Extent:
      status = fillExtent(entry, values, to);
      break;
    case Kind::PageStep:
      status = fillPageStep(entry, values, to);
      break;
    case Kind::Frame:
      fillFrame(values, to);
      break;
    case Kind::Pointer:
    case Kind::Stride:
    case Kind::Scalar: // the words are little-endian: a value's bytes come first
      std::memcpy(to, &values.words[entry.word], entry.size);
      break;
    case Kind::Workspace:
      put(to, values.workspace + static_cast<uint64_t>(entry.add));
      break;
    case Kind::Constant:
      put(to, static_cast<uint32_t>(entry.add));
      break;
    case Kind::ErrorWord:
      put(to, values.errorWord);
      break;
    }
    if (!status)
      return status;
  }
  return {};
}
