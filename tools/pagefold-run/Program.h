//===- Program.h - compile and load by the C ABI ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI's handles as values, and its errors as ours. The tool takes the same path as every
// other caller: compile to bytes, load the bytes, launch (Execution.h).
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_PROGRAM_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_PROGRAM_H

#include "Graph.h"

#include "pagefold-c/Runtime.h"

namespace pagefold::run {

/// The compiler's options as the C ABI takes them.
struct CompileOptions {
  std::string target = "host";
  std::string code;     ///< of target cuda; empty: the compiler's default
  std::string schedule; ///< "key=value,..."
  bool onlineSoftmax = true;
  std::string cascade = "auto";
  bool counters = false;
  bool strict = false;
  /// As JSON; a schedule that cannot be read is an error.
  Result<std::string> json() const;
};

/// Takes over an error of the C ABI.
Status toStatus(pagefold_error *error);

/// Compiles to an artifact's bytes.
Result<std::string> compileArtifact(const std::string &text, const std::string &options);

class Program {
public:
  /// Loads an artifact's bytes and picks what was compiled of a graph: for its bounds, where it has
  /// chosen some.
  static Result<Program> load(const std::string &artifact, Graph &graph);

  const pagefold_function *function() const { return function_; }
  /// Whether it was compiled for a GPU.
  bool onGpu() const { return onGpu_; }
  /// By argument, results included: whether its value is read when a launch starts.
  const std::vector<bool> &scalars() const { return scalars_; }

private:
  struct ModuleFree {
    void operator()(pagefold_module *module) const { pagefold_module_free(module); }
  };

  std::unique_ptr<pagefold_module, ModuleFree> module_;
  pagefold_function *function_ = nullptr; ///< owned by the module
  bool onGpu_ = false;
  std::vector<bool> scalars_;
};

/// Result arrays, filled with NaN so that an element that is not written shows. Extents that the
/// graph leaves open are those of the tokens.
Result<std::vector<Array>> makeResults(Graph &graph, const std::vector<Array> &arguments);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_PROGRAM_H
