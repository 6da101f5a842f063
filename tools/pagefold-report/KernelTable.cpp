//===- KernelTable.cpp - measured attention times by shape ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "CostModel.h"
#include "File.h"
#include "JsonFields.h"

#include <algorithm>
#include <cmath>

namespace pagefold::report {

using runtime::ErrorCode;
using runtime::fail;

namespace {

double interpolate(const std::vector<KernelTable::Row> &rows, double x, double y) {
  double weights = 0, sum = 0;
  for (const KernelTable::Row &row : rows) {
    double squared = (row.x - x) * (row.x - x) + (row.y - y) * (row.y - y);
    if (squared < 1e-12)
      return row.efficiency;
    double weight = 1 / (squared * squared);
    weights += weight;
    sum += weight * row.efficiency;
  }
  return sum / weights;
}

/// A measured time below the ideal one by more than rounding is a wrong table, not a fast kernel.
constexpr double fastestCredible = 1.05;

double efficiencyOf(JsonFields &fields, double idealSeconds, double milliseconds) {
  double efficiency = idealSeconds * 1e3 / milliseconds;
  if (efficiency > fastestCredible)
    fields.setError("expects times no shorter than the device's roofline, got " +
                    std::to_string(milliseconds) + " ms where the roofline is " +
                    std::to_string(idealSeconds * 1e3) +
                    " ms: is the row for another device, or "
                    "did it read from the L2 cache?");
  return efficiency;
}

KernelTable::Row decodeRow(JsonFields &fields, const Model &model, const Device &device) {
  double batch = fields.count("batch"), context = fields.count("context");
  double ideal = batch * context * model.kvBytesPerToken() / model.layers / device.bandwidth;
  return {std::log2(batch), std::log2(context), efficiencyOf(fields, ideal, fields.positive("ms"))};
}

KernelTable::Row prefillRow(JsonFields &fields, const Model &model, const Device &device) {
  double added = fields.count("new_tokens"), batch = fields.count("batch", 1u), before = 0;
  // A chunk may follow nothing, so that 0 is a context here.
  if (fields.has("context"))
    before = fields.countOrZero("context");
  double flops = prefillAttentionFlops(model, added, before) / model.layers;
  double bytes = (before + added) * model.kvBytesPerToken() / model.layers;
  double ideal = batch * std::max(flops / device.flops16, bytes / device.bandwidth);
  return {std::log2(added), std::log2(added + before),
          efficiencyOf(fields, ideal, fields.positive("ms"))};
}

void expectSame(JsonFields &fields, const char *key, uint32_t model) {
  uint32_t table = fields.count(key);
  if (!fields.error() && table != model)
    fields.setError(std::string("the table is for other kernels: expects \"") + key +
                    "\" to be the model's " + std::to_string(model) + ", got " +
                    std::to_string(table));
}

template <typename MakeRow>
runtime::Result<std::vector<KernelTable::Row>>
readRows(const nlohmann::json &table, const char *key, const std::string &name, MakeRow makeRow) {
  std::vector<KernelTable::Row> rows;
  const nlohmann::json list = table.value(key, nlohmann::json::array());
  for (size_t i = 0; i < list.size(); ++i) {
    std::string place = name + ": " + key + "[" + std::to_string(i) + "]";
    if (!list.is_array() || !list[i].is_object())
      return fail(ErrorCode::BadInput, place + ": expects a list of objects");
    JsonFields fields(list[i], place);
    rows.push_back(makeRow(fields));
    if (fields.error())
      return tl::unexpected(*fields.error());
  }
  return rows;
}

} // namespace

double KernelTable::decodeEfficiency(double batch, double meanContext) const {
  return interpolate(decode, std::log2(batch), std::log2(std::max(1.0, meanContext)));
}

double KernelTable::prefillEfficiency(double newTokens, double context) const {
  return interpolate(prefill, std::log2(newTokens), std::log2(newTokens + context));
}

runtime::Result<KernelTable> parseKernelTable(std::string_view text, const std::string &name,
                                              const Model &model, const Device &device) {
  runtime::Result<nlohmann::json> object = parseObject(text, name);
  if (!object)
    return tl::unexpected(object.error());
  JsonFields fields(*object, name);
  if (fields.text("format") != "pagefold-kernel-times" || fields.count("version") != 1)
    fields.setError("expects \"format\": \"pagefold-kernel-times\" and \"version\": 1");
  expectSame(fields, "query_heads", model.queryHeads);
  expectSame(fields, "kv_heads", model.kvHeads);
  expectSame(fields, "head_dim", model.headDim);
  if (fields.text("kv_dtype") != nameOf(model.kv))
    fields.setError(std::string("the table is for other kernels: expects \"kv_dtype\" to be ") +
                    nameOf(model.kv));
  KernelTable table;
  table.name = name;
  table.layout = fields.text("layout", "");
  table.pageSize = fields.count("page_size");
  if (fields.error())
    return tl::unexpected(*fields.error());
  auto decode = readRows(*object, "decode", name,
                         [&](JsonFields &row) { return decodeRow(row, model, device); });
  auto prefill = readRows(*object, "prefill", name,
                          [&](JsonFields &row) { return prefillRow(row, model, device); });
  if (!decode)
    return tl::unexpected(decode.error());
  if (!prefill)
    return tl::unexpected(prefill.error());
  table.decode = std::move(*decode);
  table.prefill = std::move(*prefill);
  if (table.rows() == 0)
    return fail(ErrorCode::BadInput,
                name + ": expects rows in \"decode\" or \"prefill\", got none");
  return table;
}

runtime::Result<KernelTable> readKernelTable(const std::string &path, const Model &model,
                                             const Device &device) {
  runtime::Result<std::string> text = readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  return parseKernelTable(*text, baseName(path), model, device);
}

} // namespace pagefold::report
