//===- Generate.cpp - inputs from a short description ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include "Checks.h"
#include "Pool.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <limits>

using namespace pagefold;
using namespace pagefold::run;

namespace {
class Generator {
public:
  Generator(Graph &graph, const Inputs &inputs, Batch batch)
      : graph_(graph), inputs_(inputs), batch_(std::move(batch)),
        arrays_(graph.parameters().size()) {}
  Result<std::vector<Array>> run();

private:
  Status takeGiven(size_t i);
  Status makePool(const CacheParameters &cache);
  Status makeTable(const CacheParameters &cache, const Pool &pool);
  Status makePages(const CacheParameters &cache, const Pool &pool);
  Status make(size_t i);
  Result<Array> allocate(const Parameter &parameter);
  int64_t firstExtent(Role role) const;
  Status fill(const Parameter &parameter, Array &array);
  void fillRandom(const Parameter &parameter, Array &array);
  void fillScales(const Parameter &parameter, Array &array);
  void fillOffsets(Array &array, const std::vector<int64_t> &lengths);
  void fillRope(const Parameter &parameter, Array &array);
  void fillPositions(Array &array);
  std::mt19937_64 random(const std::string &name) const;

  bool has(int64_t i) const { return i < 0 || arrays_[i].has_value(); }
  const Parameter &parameter(int64_t i) const { return graph_.parameters()[i]; }

  Graph &graph_;
  const Inputs &inputs_;
  Batch batch_;
  std::vector<std::optional<Array>> arrays_;
};
} // namespace

std::mt19937_64 Generator::random(const std::string &name) const {
  return std::mt19937_64(llvm::xxh3_64bits(name) ^ (inputs_.settings.seed * 0x9E3779B97F4A7C15ull));
}

//===----------------------------------------------------------------------===//
// Given ones
//===----------------------------------------------------------------------===//

Status Generator::takeGiven(size_t i) {
  const Parameter &parameter = graph_.parameters()[i];
  if (auto found = inputs_.arrays.find(parameter.name); found != inputs_.arrays.end()) {
    arrays_[i] = found->second;
    return checkType(graph_, parameter, found->second,
                     "'" + inputs_.sources.at(parameter.name) + "'");
  }
  auto found = inputs_.values.find(parameter.name);
  if (found == inputs_.values.end())
    return {};
  const std::vector<double> &numbers = found->second;
  // A list of numbers is what a dynamic vector holds; one number fills an array of known size.
  bool isList = parameter.shape.size() == 1 && parameter.shape[0] == Parameter::kDynamic &&
                numbers.size() > 1;
  Result<Array> array = isList
                            ? Array::make(parameter.dtype, {static_cast<int64_t>(numbers.size())})
                            : allocate(parameter);
  if (!array)
    return tl::unexpected(array.error());
  if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != array->size())
    return graph_.failAt(parameter, "expects one number or " + std::to_string(array->size()) +
                                        ", got " + std::to_string(numbers.size()));
  for (int64_t at = 0; at < array->size(); ++at)
    array->storeAt(at, numbers[numbers.size() == 1 ? 0 : at]);
  arrays_[i] = *array;
  return {};
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

Status Generator::makePool(const CacheParameters &cache) {
  if (cache.kPages < 0 || cache.vPages < 0 || cache.table < 0)
    return {}; // the graph computes them
  if (has(cache.kPages) && has(cache.vPages) && has(cache.table) && has(cache.starts))
    return {};
  std::optional<int64_t> pages = inputs_.settings.pages;
  for (int64_t part : {cache.kPages, cache.vPages}) {
    if (has(part))
      pages = arrays_[part]->dim(0);
    else if (parameter(part).shape[0] != Parameter::kDynamic)
      pages = parameter(part).shape[0];
  }
  std::mt19937_64 generator = random(parameter(cache.table).name);
  Result<Pool> pool =
      has(cache.table) && has(cache.starts)
          ? Pool::fromTable(cache, batch_, *arrays_[cache.table],
                            cache.starts < 0 ? nullptr : &*arrays_[cache.starts], pages)
          : Pool::draw(cache, batch_, pages, generator);
  if (!pool)
    return graph_.failAt(parameter(cache.kPages), "cannot be generated: " + pool.error().message());
  Status status = makeTable(cache, *pool);
  return status ? makePages(cache, *pool) : status;
}

Status Generator::makeTable(const CacheParameters &cache, const Pool &pool) {
  if (has(cache.table) && has(cache.starts))
    return {};
  std::vector<int64_t> counts;
  int64_t total = 0, width = 1;
  for (int64_t r = 0; r < batch_.size(); ++r) {
    counts.push_back(static_cast<int64_t>(pool.pagesOf(r).size()));
    total += counts.back();
    width = std::max(width, counts.back());
  }
  bool isList = cache.starts >= 0;
  if (!isList && parameter(cache.table).shape[1] != Parameter::kDynamic)
    width = parameter(cache.table).shape[1];
  Result<Array> table =
      isList ? Array::make(DType::I32, {total}) : Array::make(DType::I32, {batch_.size(), width});
  if (!table)
    return tl::unexpected(table.error());
  int64_t at = 0;
  for (int64_t r = 0; r < batch_.size(); ++r) {
    for (int64_t i = 0; i < (isList ? counts[r] : width); ++i)
      table->storeIntegerAt(at++, i < counts[r] ? pool.pagesOf(r)[i] : -1);
  }
  arrays_[cache.table] = *table;
  if (!isList)
    return {};
  Result<Array> starts = Array::make(DType::I32, {batch_.size() + 1});
  if (!starts)
    return tl::unexpected(starts.error());
  fillOffsets(*starts, counts);
  arrays_[cache.starts] = *starts;
  return {};
}

Status Generator::makePages(const CacheParameters &cache, const Pool &pool) {
  if (has(cache.kPages) && has(cache.vPages))
    return {};
  Result<std::pair<Array, Array>> made =
      allocatePages(cache, parameter(cache.kPages).dtype, pool.pages(), inputs_.settings.layout);
  if (!made)
    return graph_.failAt(parameter(cache.kPages), "cannot be generated: " + made.error().message());
  double unowned = inputs_.settings.poison ? std::numeric_limits<double>::quiet_NaN() : 0;
  for (auto &[part, pages] :
       {std::pair(cache.kPages, made->first), std::pair(cache.vPages, made->second)}) {
    if (has(part))
      continue;
    Array array = pages;
    std::mt19937_64 generator = random(parameter(part).name);
    std::normal_distribution<float> normal(0, static_cast<float>(inputs_.settings.deviation));
    bool headMajor = cache.layout == attn::Layout::HND;
    int64_t at = 0, dim = array.dim(3), second = array.dim(2), slots = cache.type.getPageSize();
    array.forEach([&](int64_t place) { // row-major in the declared order
      int64_t page = at / (dim * second * array.dim(1)),
              slot = headMajor ? at / dim % slots : at / (dim * second) % slots;
      array.storeAt(place, pool.owned(page, slot) ? normal(generator) : unowned);
      ++at;
    });
    arrays_[part] = array;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Single arrays
//===----------------------------------------------------------------------===//

int64_t Generator::firstExtent(Role role) const {
  switch (role) {
  case Role::DenseKeys:
    return batch_.keys();
  case Role::Lens:
  case Role::Symbol:
  case Role::BitmapStarts:
    return batch_.size();
  case Role::Rows:
  case Role::KvRows:
    return batch_.size() + 1;
  case Role::Cos:
  case Role::Sin: {
    attn::BoundsAttr bounds = graph_.bounds();
    return std::max({batch_.longest(), bounds ? bounds.getKvLen() : 0, int64_t{1}});
  }
  case Role::Bitmap: {
    int64_t bits = 0;
    for (int64_t r = 0; r < batch_.size(); ++r)
      bits += batch_.qLens[r] * batch_.lens[r];
    return (bits + 7) / 8;
  }
  default:
    return batch_.tokens();
  }
}

Result<Array> Generator::allocate(const Parameter &parameter) {
  std::vector<int64_t> shape = parameter.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != Parameter::kDynamic)
      continue;
    if (i > 0)
      return graph_.failAt(parameter, "has a dynamic dimension " + std::to_string(i) +
                                          " that cannot be generated: give the array in a file");
    shape[i] = firstExtent(parameter.role);
  }
  Result<Array> array = Array::make(parameter.dtype, std::move(shape));
  if (!array)
    return graph_.failAt(parameter, "cannot be generated: " + array.error().message());
  return array;
}

void Generator::fillRandom(const Parameter &parameter, Array &array) {
  std::mt19937_64 generator = random(parameter.name);
  std::normal_distribution<float> normal(0, static_cast<float>(inputs_.settings.deviation));
  for (int64_t at = 0; at < array.size(); ++at)
    if (pagefold::isFloat(array.dtype()))
      array.storeAt(at, normal(generator));
    else
      array.storeIntegerAt(at, static_cast<int8_t>(generator()));
}

/// Of every head another one, so that a wrong head's shows.
void Generator::fillScales(const Parameter &parameter, Array &array) {
  std::mt19937_64 generator = random(parameter.name);
  std::uniform_real_distribution<float> uniform(0.25F, 1.0F);
  for (int64_t at = 0; at < array.size(); ++at)
    array.storeAt(at, uniform(generator));
}

void Generator::fillOffsets(Array &array, const std::vector<int64_t> &lengths) {
  int64_t sum = 0;
  for (int64_t r = 0; r < array.size(); ++r) {
    array.storeIntegerAt(r, sum);
    sum += r < static_cast<int64_t>(lengths.size()) ? lengths[r] : 0;
  }
}

/// cos(p theta^(-j / pairs)), or the sine.
void Generator::fillRope(const Parameter &parameter, Array &array) {
  int64_t pairs = array.dim(1);
  for (int64_t at = 0; at < array.size(); ++at) {
    double exponent = -static_cast<double>(at % pairs) / static_cast<double>(pairs);
    double angle = static_cast<double>(at / pairs) * std::pow(inputs_.settings.theta, exponent);
    array.storeAt(at, parameter.role == Role::Cos ? std::cos(angle) : std::sin(angle));
  }
}

void Generator::fillPositions(Array &array) {
  int64_t at = 0;
  for (int64_t r = 0; r < batch_.size(); ++r)
    for (int64_t i = 0; i < batch_.qLens[r] && at < array.size(); ++i)
      array.storeIntegerAt(at++, batch_.lens[r] - batch_.qLens[r] + i);
}

/// The slopes of ALiBi for any number of heads: two geometric series.
static void fillSlopes(Array &array) {
  int64_t heads = array.size(), power = 1;
  while (power * 2 <= heads)
    power *= 2;
  for (int64_t i = 0; i < heads; ++i) {
    double exponent =
        i < power ? -8.0 * static_cast<double>(i + 1) / static_cast<double>(power)
                  : -4.0 * static_cast<double>(2 * (i - power) + 1) / static_cast<double>(power);
    array.storeAt(i, std::exp2(exponent));
  }
}

Status Generator::fill(const Parameter &parameter, Array &array) {
  switch (parameter.role) {
  case Role::Lens:
    for (int64_t r = 0; r < array.size(); ++r)
      array.storeIntegerAt(r, r < batch_.size() ? batch_.lens[r] : 0);
    break;
  case Role::Scales:
    fillScales(parameter, array);
    break;
  case Role::Rows:
    fillOffsets(array, batch_.qLens);
    break;
  case Role::KvRows:
    fillOffsets(array, batch_.lens);
    break;
  case Role::BitmapStarts: {
    std::vector<int64_t> bits;
    for (int64_t r = 0; r < batch_.size(); ++r)
      bits.push_back(batch_.qLens[r] * batch_.lens[r]);
    fillOffsets(array, bits);
    break;
  }
  case Role::Cos:
  case Role::Sin:
    fillRope(parameter, array);
    break;
  case Role::Positions:
    fillPositions(array);
    break;
  case Role::Symbol:
  case Role::RowValue:
  case Role::SharedPrefix:
  case Role::Scalar:
    return graph_.failAt(parameter, "has no number that could be guessed: say --inputs " +
                                        parameter.name + "=<number>");
  default:
    if (array.rank() == 1 && llvm::StringRef(parameter.name).contains("slope"))
      fillSlopes(array);
    else
      fillRandom(parameter, array);
  }
  return {};
}

Status Generator::make(size_t i) {
  if (arrays_[i])
    return {};
  Result<Array> array = allocate(graph_.parameters()[i]);
  if (!array)
    return tl::unexpected(array.error());
  Status status = fill(graph_.parameters()[i], *array);
  arrays_[i] = *array;
  return status;
}

Result<std::vector<Array>> Generator::run() {
  for (size_t i = 0; i < arrays_.size(); ++i)
    if (Status status = takeGiven(i); !status)
      return tl::unexpected(status.error());
  for (const CacheParameters &cache : graph_.caches())
    if (Status status = makePool(cache); !status)
      return tl::unexpected(status.error());
  std::vector<Array> arrays;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (Status status = make(i); !status)
      return tl::unexpected(status.error());
    if (Status status =
            checkType(graph_, graph_.parameters()[i], *arrays_[i], "the description of the inputs");
        !status)
      return tl::unexpected(status.error());
    arrays.push_back(*arrays_[i]);
  }
  return arrays;
}

Result<std::vector<Array>> run::makeArrays(Graph &graph, const Inputs &inputs) {
  Result<Batch> batch = planBatch(graph, inputs);
  if (!batch)
    return tl::unexpected(batch.error());
  if (Status status = chooseBounds(graph, *batch); !status)
    return tl::unexpected(status.error());
  Result<std::vector<Array>> arrays = Generator(graph, inputs, *batch).run();
  if (!arrays)
    return arrays;
  if (Status status = checkBatch(graph, *arrays); !status)
    return tl::unexpected(status.error());
  return arrays;
}
