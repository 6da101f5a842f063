//===- Batch.cpp - the batch that inputs are generated for ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"

#include <algorithm>
#include <numeric>

using namespace pagefold;
using namespace pagefold::run;

int64_t Batch::tokens() const { return std::accumulate(qLens.begin(), qLens.end(), int64_t{0}); }
int64_t Batch::keys() const { return std::accumulate(lens.begin(), lens.end(), int64_t{0}); }
int64_t Batch::longest() const {
  return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
}

/// What files or numbers give for the first parameter of a role.
static std::optional<std::vector<int64_t>> given(const Graph &graph, const Inputs &inputs,
                                                 Role role) {
  for (const Parameter &parameter : graph.parameters()) {
    if (parameter.role != role)
      continue;
    std::vector<int64_t> values;
    if (auto array = inputs.arrays.find(parameter.name); array != inputs.arrays.end()) {
      array->second.forEach([&](int64_t at) { values.push_back(array->second.loadIntegerAt(at)); });
      return values;
    }
    if (auto numbers = inputs.values.find(parameter.name); numbers != inputs.values.end())
      return std::vector<int64_t>(numbers->second.begin(), numbers->second.end());
  }
  return std::nullopt;
}

/// Offsets as lengths. Offsets that fall are told by the checks.
static std::vector<int64_t> differences(const std::vector<int64_t> &offsets) {
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < offsets.size(); ++i)
    lengths.push_back(std::max<int64_t>(offsets[i] - offsets[i - 1], 0));
  return lengths;
}

static Status planLens(const Graph &graph, const Inputs &inputs, Batch &batch) {
  if (auto lens = given(graph, inputs, Role::Lens))
    batch.lens = *lens;
  else if (auto kvRows = given(graph, inputs, Role::KvRows))
    batch.lens = differences(*kvRows);
  else
    batch.lens = inputs.settings.lens;
  for (int64_t &length : batch.lens) // a bad one in a file is told by the checks
    length = std::max<int64_t>(length, 0);
  if (!batch.lens.empty() || !inputs.settings.lens.empty())
    return {};
  for (const Parameter &parameter : graph.parameters())
    if ((parameter.role == Role::Lens || parameter.role == Role::KvRows) &&
        !inputs.arrays.count(parameter.name))
      return graph.failAt(parameter,
                          "is in no file: give one, or lengths as in --inputs lens=17,300");
  return {};
}

Result<Batch> run::planBatch(const Graph &graph, const Inputs &inputs) {
  Batch batch;
  if (Status status = planLens(graph, inputs, batch); !status)
    return tl::unexpected(status.error());
  const Settings &settings = inputs.settings;
  bool wantsLens = std::any_of(
      graph.parameters().begin(), graph.parameters().end(), [](const Parameter &parameter) {
        return parameter.role == Role::Lens || parameter.role == Role::KvRows;
      });
  if (auto rows = given(graph, inputs, Role::Rows))
    batch.qLens = differences(*rows);
  else if (settings.wholePrompts)
    batch.qLens = batch.lens;
  else if (settings.qLens.size() > 1 || (!wantsLens && settings.lens.empty()))
    batch.qLens = settings.qLens;
  else
    batch.qLens.assign(batch.lens.size(), settings.qLens.empty() ? 1 : settings.qLens.front());
  if (!wantsLens && batch.lens.empty())
    batch.lens = batch.qLens; // nothing but tokens to count
  if (auto prefix = given(graph, inputs, Role::SharedPrefix); prefix && !prefix->empty())
    batch.shared = std::max<int64_t>(prefix->front(), 0);
  if (batch.qLens.size() != batch.lens.size())
    return fail(ErrorCode::InvalidArgument,
                "expects as many new-token counts (q_len, rows) as lengths (lens), got " +
                    std::to_string(batch.qLens.size()) + " and " +
                    std::to_string(batch.lens.size()));
  return batch;
}

/// The argument to blame: the first one of a role.
static tl::unexpected<runtime::Error>
failAtRole(const Graph &graph, std::initializer_list<Role> roles, const std::string &what) {
  for (Role role : roles)
    for (const Parameter &parameter : graph.parameters())
      if (parameter.role == role)
        return graph.failAt(parameter, what);
  return fail(ErrorCode::InvalidArgument, "the batch " + what);
}

static Status checkBounds(const Graph &graph, attn::BoundsAttr bounds, const Batch &batch) {
  auto above = [](const char *what, int64_t bound) {
    return std::string(", above ") + what + " " + std::to_string(bound) +
           " of the function's attn.bounds";
  };
  if (batch.size() > bounds.getBatch())
    return failAtRole(graph, {Role::Rows, Role::Lens},
                      "has " + std::to_string(batch.size()) + " requests" +
                          above("batch", bounds.getBatch()));
  for (int64_t r = 0; r < batch.size(); ++r) {
    std::string request = "gives request " + std::to_string(r) + " ";
    if (batch.qLens[r] > bounds.getQLen())
      return failAtRole(graph, {Role::Rows},
                        request + std::to_string(batch.qLens[r]) + " rows" +
                            above("q_len", bounds.getQLen()));
    if (batch.lens[r] > bounds.getKvLen())
      return failAtRole(graph, {Role::Lens, Role::KvRows},
                        request + "length " + std::to_string(batch.lens[r]) +
                            above("kv_len", bounds.getKvLen()));
  }
  if (batch.tokens() > bounds.maxTokens())
    return failAtRole(graph, {Role::Rows},
                      "has " + std::to_string(batch.tokens()) + " tokens" +
                          above("tokens", bounds.maxTokens()));
  return {};
}

Status run::chooseBounds(Graph &graph, const Batch &batch) {
  Status status;
  for (attn::BoundsAttr bounds : graph.declared()) {
    status = checkBounds(graph, bounds, batch);
    if (status) {
      graph.choose(bounds);
      break;
    }
  }
  return status; // of the last, which are the largest
}
