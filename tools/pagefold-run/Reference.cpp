//===- Reference.cpp - the oracle on a graph's arrays ---------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include <thread>

using namespace pagefold;
using namespace pagefold::run;

/// The type of the cache argument that the parameter is a part of; null where it is an argument of
/// its own.
static attn::PagedKVType cacheTypeOf(Graph &graph, const Parameter &parameter) {
  return llvm::dyn_cast<attn::PagedKVType>(
      graph.function().getArgument(parameter.argument).getType());
}

Result<Reference> run::evaluateReference(Graph &graph, const std::vector<Array> &arguments) {
  std::vector<oracle::Argument> bundled;
  for (size_t i = 0; i < arguments.size();) {
    auto take = [&] { return arguments[i++]; };
    attn::PagedKVType type = cacheTypeOf(graph, graph.parameters()[i]);
    if (!type) {
      bundled.emplace_back(take());
      continue;
    }
    oracle::CacheArrays cache{take(), take(), take(), take()}; // braces evaluate in order
    if (type.isScaled()) {
      cache.kScale = take();
      cache.vScale = take();
    }
    bundled.emplace_back(std::move(cache));
  }
  unsigned threads = std::max(std::thread::hardware_concurrency(), 1u);
  Result<oracle::Evaluation> evaluation = oracle::evaluate(graph.function(), bundled, threads);
  if (!evaluation)
    return tl::unexpected(evaluation.error());
  Reference reference{std::move(evaluation->outputs), {}};
  for (const oracle::Argument &argument : evaluation->arguments) {
    if (auto *array = std::get_if<Array>(&argument)) {
      reference.arguments.push_back(*array);
      continue;
    }
    const auto &cache = std::get<oracle::CacheArrays>(argument);
    for (const Array *part : {&cache.kPages, &cache.vPages, &cache.table, &cache.lens})
      reference.arguments.push_back(*part);
    for (const std::optional<Array> *scale : {&cache.kScale, &cache.vScale})
      if (*scale)
        reference.arguments.push_back(**scale);
  }
  return reference;
}

static bool printOutcome(const std::string &name, const oracle::Comparison &outcome,
                         llvm::raw_ostream &out) {
  out << "check " << name << ": " << (outcome.ok() ? "ok, " : "MISMATCH, ") << outcome.summary()
      << "\n";
  return outcome.ok();
}

bool run::printComparison(Graph &graph, const Reference &reference,
                          const std::vector<Array> &results, const std::vector<Array> &before,
                          const std::vector<Array> &after, llvm::raw_ostream &out) {
  bool ok = true;
  for (auto [i, output] : llvm::enumerate(reference.outputs))
    ok &= printOutcome("out" + std::to_string(i), oracle::compare(results[i], output), out);
  for (const CacheParameters &cache : graph.caches())
    for (int64_t part : {cache.kPages, cache.vPages}) {
      if (!cache.appended || part < 0)
        continue;
      Result<oracle::Comparison> outcome =
          oracle::comparePages(after[part], reference.arguments[part], before[part]);
      if (outcome)
        ok &= printOutcome(graph.parameters()[part].name, *outcome, out);
      else
        out << "check " << graph.parameters()[part].name << ": " << outcome.error().message()
            << "\n";
      ok &= outcome.has_value();
    }
  return ok;
}
