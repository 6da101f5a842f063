//===- TensorMapCache.cpp - encoded tensor maps, kept ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMapCache.h"

using namespace pagefold::runtime;

static size_t hash(const TensorMapKey &key) {
  // Multiply and fold: addresses and extents differ in few bits, all of which must count.
  uint64_t state = key.parameter;
  auto mix = [&](uint64_t value) {
    state = (state ^ value) * 0x9e3779b97f4a7c15ull;
    state ^= state >> 32;
  };
  mix(key.address);
  for (uint64_t extent : key.extents)
    mix(extent);
  for (uint64_t stride : key.strides)
    mix(stride);
  return state;
}

Result<const TensorMap *> TensorMapCache::get(const CudaDriver &driver, const TensorMapKey &key,
                                              const TensorMapRecipe &recipe) {
  if (places_.empty())
    places_.resize(kPlaces);
  Place &place = places_[hash(key) % kPlaces];
  if (place.key == key)
    return &place.map;
  size_t rank = recipe.box.size();
  TensorView view;
  view.address = reinterpret_cast<const void *>(key.address);
  view.extents.assign(key.extents.begin(), key.extents.begin() + rank);
  view.strides.assign(key.strides.begin(), key.strides.begin() + (rank - 1));
  Result<TensorMap> map = encodeTensorMap(driver, recipe, view);
  if (!map)
    return tl::unexpected(map.error());
  place = {key, *map};
  return &place.map;
}
