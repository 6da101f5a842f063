//===- Inputs.h - what --inputs says ----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An item is a file (`kv.npz`, `q=query.npy`), a setting of the generator (`lens=17,300`,
// `q_len=1`, `layout=hnd` ...), or numbers for an argument by its name (`w=4096`).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_INPUTS_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_INPUTS_H

#include "Graph.h"

#include <map>

namespace pagefold::run {

/// How pages lie in memory, whatever the order of their dimensions in the graph.
enum class MemoryLayout { AsDeclared, NHD, HND, Interleaved };

struct Settings {
  std::vector<int64_t> lens;    ///< empty: not given
  std::vector<int64_t> qLens;   ///< one for all, or one for each request
  bool wholePrompts = false;    ///< q_len=all: every token of a request is new
  std::optional<int64_t> batch; ///< how many of the lengths to take
  std::optional<int64_t> pages; ///< of the pool
  MemoryLayout layout = MemoryLayout::AsDeclared;
  bool poison = true;   ///< NaN in what no request owns
  double theta = 10000; ///< base of the rope tables
  double deviation = 1; ///< of random numbers
  uint64_t seed = 0;
};

struct Inputs {
  std::map<std::string, Array> arrays;               ///< by parameter, from files
  std::map<std::string, std::string> sources;        ///< the file of each
  std::map<std::string, std::vector<double>> values; ///< by parameter, from the command line
  Settings settings;
};

/// Reads all items. Files are read here; a name that no parameter has is an error.
Result<Inputs> readInputs(const Graph &graph, const std::vector<std::string> &items, uint64_t seed);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_INPUTS_H
