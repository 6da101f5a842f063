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

/// Whether the parameter is one of the four of a cache argument, and not an argument of its own.
static bool isPartOfCache(Graph &graph, const Parameter &parameter) {
  return llvm::isa<attn::PagedKVType>(graph.function().getArgument(parameter.argument).getType());
}

Result<Reference> run::evaluateReference(Graph &graph, const std::vector<Array> &arguments) {
  std::vector<oracle::Argument> bundled;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!isPartOfCache(graph, graph.parameters()[i])) {
      bundled.push_back(arguments[i]);
      continue;
    }
    bundled.push_back(
        oracle::CacheArrays{arguments[i], arguments[i + 1], arguments[i + 2], arguments[i + 3]});
    i += 3;
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
