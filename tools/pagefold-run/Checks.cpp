//===- Checks.cpp - arrays against the graph, before anything runs --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

using namespace pagefold;
using namespace pagefold::run;

static std::string number(int64_t n) { return std::to_string(n); }

Status run::checkType(const Graph &graph, const Parameter &parameter, const Array &array,
                      const std::string &source) {
  bool fits = parameter.dtype == array.dtype() && parameter.shape.size() == array.shape().size();
  for (size_t i = 0; fits && i < parameter.shape.size(); ++i)
    fits = parameter.shape[i] == Parameter::kDynamic || parameter.shape[i] == array.shape()[i];
  if (!fits)
    return graph.failAt(parameter, "expects " + parameter.typeText() + ", got " +
                                       std::string(dtypeName(array.dtype())) + " " +
                                       shapeString(array.shape()) + " from " + source);
  if (array.rank() && array.dim(array.rank() - 1) > 1 && array.strides().back() != 1)
    return graph.failAt(parameter, "expects a contiguous last dimension, got stride " +
                                       number(array.strides().back()) + " (Fortran order?) from " +
                                       source);
  return {};
}

namespace {
class BatchChecker {
public:
  BatchChecker(Graph &graph, const std::vector<Array> &arrays) : graph_(graph), arrays_(arrays) {}
  Status run();

private:
  Status checkExtent(size_t i);
  Status checkOffsets(size_t i);
  Status checkCache(const CacheParameters &cache);
  Status checkRequest(const CacheParameters &cache, int64_t request);
  /// Where a request's page ids begin in the table's array, and how many there are.
  std::pair<int64_t, int64_t> tableRow(const CacheParameters &cache, int64_t request) const;
  Status bind(size_t i, int64_t extent, std::optional<int64_t> &bound, size_t &binder,
              const char *what);

  const Parameter &parameter(int64_t i) const { return graph_.parameters()[i]; }

  Graph &graph_;
  const std::vector<Array> &arrays_;
  std::optional<int64_t> tokens_, batch_, keys_; ///< as the first parameter that has them says
  size_t tokensOf_ = 0, batchOf_ = 0, keysOf_ = 0;
};
} // namespace

/// The first parameter with an extent binds it; the others have to agree.
Status BatchChecker::bind(size_t i, int64_t extent, std::optional<int64_t> &bound, size_t &binder,
                          const char *what) {
  if (!bound) {
    bound = extent;
    binder = i;
  } else if (*bound != extent) {
    return graph_.failAt(parameter(i), "has " + number(extent) + " " + what + ", but '" +
                                           parameter(binder).name + "' has " + number(*bound));
  }
  return {};
}

Status BatchChecker::checkExtent(size_t i) {
  if (arrays_[i].rank() == 0)
    return {};
  int64_t first = arrays_[i].dim(0);
  switch (parameter(i).role) {
  case Role::Data:
    // Only a dynamic first dimension is known to count tokens.
    return parameter(i).shape[0] == Parameter::kDynamic
               ? bind(i, first, tokens_, tokensOf_, "tokens")
               : Status();
  case Role::Positions:
  case Role::RowValue:
    return bind(i, first, tokens_, tokensOf_, "tokens");
  case Role::DenseKeys:
    return bind(i, first, keys_, keysOf_, "keys");
  case Role::Lens:
  case Role::Table:
  case Role::BitmapStarts:
  case Role::Symbol:
    return bind(i, first, batch_, batchOf_, "requests");
  case Role::Rows:
  case Role::KvRows:
  case Role::ListStarts:
    if (first < 1)
      return graph_.failAt(parameter(i), "expects batch + 1 entries, got none");
    return bind(i, first - 1, batch_, batchOf_, "requests");
  default:
    return {};
  }
}

Status BatchChecker::checkOffsets(size_t i) {
  Role role = parameter(i).role;
  if (role != Role::Rows && role != Role::KvRows && role != Role::ListStarts)
    return {};
  int64_t limit = INT32_MAX, previous = 0;
  if (role == Role::Rows)
    limit = tokens_.value_or(limit);
  if (role == Role::KvRows)
    limit = keys_.value_or(limit);
  if (int64_t cache = parameter(i).cache;
      role == Role::ListStarts && graph_.caches()[cache].table >= 0)
    limit = arrays_[graph_.caches()[cache].table].dim(0);
  for (int64_t at = 0; at < arrays_[i].dim(0); ++at) {
    int64_t offset = arrays_[i].loadIntegerAt(at * arrays_[i].strides()[0]);
    if (offset < previous || offset > limit)
      return graph_.failAt(parameter(i), "expects offsets that never fall and stay in [0, " +
                                             number(limit) + "], got " + number(offset) +
                                             " at index " + number(at) + " after " +
                                             number(previous));
    previous = offset;
  }
  return {};
}

std::pair<int64_t, int64_t> BatchChecker::tableRow(const CacheParameters &cache,
                                                   int64_t request) const {
  const Array &table = arrays_[cache.table];
  if (cache.starts < 0)
    return {request * table.strides()[0], table.dim(1)};
  const Array &starts = arrays_[cache.starts];
  int64_t begin = starts.loadIntegerAt(request * starts.strides()[0]);
  return {begin * table.strides()[0],
          starts.loadIntegerAt((request + 1) * starts.strides()[0]) - begin};
}

Status BatchChecker::checkRequest(const CacheParameters &cache, int64_t request) {
  const Array &lens = arrays_[cache.lens], &table = arrays_[cache.table];
  int64_t length = lens.loadIntegerAt(request * lens.strides()[0]), page = cache.type.getPageSize();
  std::string who = "request " + number(request);
  if (length < 0)
    return graph_.failAt(parameter(cache.lens),
                         "expects lengths of at least 0, got " + number(length) + " for " + who);
  int64_t needed = (length + page - 1) / page, pages = arrays_[cache.kPages].dim(0);
  auto [begin, width] = tableRow(cache, request);
  if (needed > width)
    return graph_.failAt(parameter(cache.table), "is too narrow: " + who + " needs " +
                                                     number(needed) + " pages of " + number(page) +
                                                     " tokens for its length " + number(length) +
                                                     ", its row has " + number(width));
  for (int64_t i = 0; i < needed; ++i)
    if (int64_t id = table.loadIntegerAt(begin + i * table.strides().back()); id < 0 || id >= pages)
      return graph_.failAt(parameter(cache.table), "expects page ids in [0, " + number(pages) +
                                                       "), got " + number(id) + " as page " +
                                                       number(i) + " of " + who);
  return {};
}

Status BatchChecker::checkCache(const CacheParameters &cache) {
  // An argument that the graph computes first is checked by the runtime alone.
  for (int64_t part : {cache.kPages, cache.vPages, cache.table, cache.lens})
    if (part < 0)
      return {};
  int64_t kPages = arrays_[cache.kPages].dim(0), vPages = arrays_[cache.vPages].dim(0);
  if (kPages != vPages)
    return graph_.failAt(parameter(cache.vPages), "has " + number(vPages) + " pages, but '" +
                                                      parameter(cache.kPages).name + "' has " +
                                                      number(kPages));
  for (int64_t request = 0; request < arrays_[cache.lens].dim(0); ++request)
    if (Status status = checkRequest(cache, request); !status)
      return status;
  return {};
}

Status BatchChecker::run() {
  for (auto step : {&BatchChecker::checkExtent, &BatchChecker::checkOffsets})
    for (size_t i = 0; i < arrays_.size(); ++i)
      if (Status status = (this->*step)(i); !status)
        return status;
  for (const CacheParameters &cache : graph_.caches())
    if (Status status = checkCache(cache); !status)
      return status;
  return {};
}

Status run::checkBatch(Graph &graph, const std::vector<Array> &arrays) {
  return BatchChecker(graph, arrays).run();
}
