//===- Work.cpp - bytes and operations of a call --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Work.h"

#include "Roles.h"

#include "pagefold/Oracle/MaskEvaluator.h"

using namespace pagefold;
using namespace pagefold::run;

namespace {
class WorkCounter {
public:
  WorkCounter(Graph &graph, const std::vector<Array> &arguments)
      : graph_(graph), arguments_(arguments) {}
  double visiblePairs(attn::AttentionOp op) const;
  double pageBytes(const CacheParameters &cache, int64_t part) const;

private:
  /// The array of an argument, if `value` is one.
  const Array *arrayOf(mlir::Value value) const;
  double visibleInRequest(attn::AttentionOp op, int64_t request, int64_t firstRow, int64_t qLen,
                          int64_t kvLen) const;

  Graph &graph_;
  const std::vector<Array> &arguments_;
};
} // namespace

const Array *WorkCounter::arrayOf(mlir::Value value) const {
  std::optional<unsigned> argument = value ? argumentOf(value) : std::nullopt;
  for (size_t i = 0; argument && i < arguments_.size(); ++i)
    if (graph_.parameters()[i].argument == *argument)
      return &arguments_[i];
  return nullptr;
}

/// Of a long request a part of the rows stands for all.
static constexpr int64_t kSampledPairs = 1 << 22;

double WorkCounter::visibleInRequest(attn::AttentionOp op, int64_t request, int64_t firstRow,
                                     int64_t qLen, int64_t kvLen) const {
  std::vector<int64_t> symbols{qLen, kvLen};
  for (mlir::Value symbol : op.getSymbols()) {
    const Array *array = arrayOf(symbol);
    symbols.push_back(
        array ? array->loadIntegerAt(array->rank() ? request * array->strides()[0] : 0) : 0);
  }
  oracle::MaskEvaluator mask(op.getMask().getSets(), symbols);
  int64_t step = std::max<int64_t>(qLen * kvLen / kSampledPairs, 1), visible = 0, sampled = 0;
  for (int64_t q = step / 2; q < qLen; q += step, ++sampled) {
    std::vector<int64_t> dims{q};
    for (mlir::Value rowValue : op.getRowValues()) {
      const Array *array = arrayOf(rowValue);
      dims.push_back(array ? array->loadIntegerAt((firstRow + q) * array->strides()[0]) : 0);
    }
    dims.push_back(0);
    for (dims.back() = 0; dims.back() < kvLen; ++dims.back())
      visible += mask.visible(dims);
  }
  return sampled ? static_cast<double>(visible) * static_cast<double>(qLen) /
                       static_cast<double>(sampled)
                 : 0;
}

double WorkCounter::visiblePairs(attn::AttentionOp op) const {
  const Array *rows = arrayOf(op.getRows()), *kvRows = arrayOf(op.getKvRows()), *lens = nullptr;
  if (op.getCache())
    if (std::optional<int64_t> cache = cacheOf(op.getCache(), graph_.caches(), graph_.parameters()))
      if (int64_t part = graph_.caches()[*cache].lens; part >= 0)
        lens = &arguments_[part];
  if (!rows || (!lens && !kvRows))
    return 0;
  double pairs = 0;
  for (int64_t r = 0; r + 1 < rows->dim(0); ++r) {
    int64_t first = rows->loadIntegerAt(r), qLen = rows->loadIntegerAt(r + 1) - first;
    int64_t kvLen =
        lens ? lens->loadIntegerAt(r) : kvRows->loadIntegerAt(r + 1) - kvRows->loadIntegerAt(r);
    pairs += visibleInRequest(op, r, first, qLen, kvLen);
  }
  return pairs;
}

/// What the requests own of a pool.
double WorkCounter::pageBytes(const CacheParameters &cache, int64_t part) const {
  double tokens = 0;
  arguments_[cache.lens].forEach(
      [&](int64_t at) { tokens += static_cast<double>(arguments_[cache.lens].loadIntegerAt(at)); });
  int64_t rowBytes =
      cache.type.getHeads() * arguments_[part].dim(3) * dtypeSize(arguments_[part].dtype());
  return tokens * static_cast<double>(rowBytes);
}

Work run::measureWork(Graph &graph, const std::vector<Array> &arguments,
                      const std::vector<Array> &results) {
  WorkCounter counter(graph, arguments);
  Work work;
  for (auto [parameter, array] : llvm::zip_equal(graph.parameters(), arguments)) {
    bool isPool = parameter.role == Role::KPages || parameter.role == Role::VPages;
    if (isPool && parameter.cache >= 0 && graph.caches()[parameter.cache].lens >= 0)
      work.bytes += counter.pageBytes(graph.caches()[parameter.cache], &array - arguments.data());
    else
      work.bytes += static_cast<double>(array.sizeInBytes());
  }
  for (const Array &result : results)
    work.bytes += static_cast<double>(result.sizeInBytes());
  graph.function().walk([&](attn::AttentionOp op) {
    work.operations += counter.visiblePairs(op) *
                       static_cast<double>(2 * op.getQueryHeads() * (op.getKDim() + op.getVDim()));
  });
  return work;
}
