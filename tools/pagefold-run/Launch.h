//===- Launch.h - compile, load and launch by the C ABI ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI's handles as values, and its errors as ours. The tool takes the same path as every
// other caller: compile to bytes, load the bytes, launch.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_LAUNCH_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_LAUNCH_H

#include "Graph.h"

#include "pagefold-c/Runtime.h"

namespace pagefold::run {

/// The compiler's options as the C ABI takes them.
struct CompileOptions {
  std::string target = "host";
  std::string schedule; ///< "key=value,..."
  bool onlineSoftmax = true;
  bool counters = false;
  /// As JSON; a schedule that cannot be read is an error.
  Result<std::string> json() const;
};

class Program {
public:
  static Result<Program> compile(const std::string &text, const std::string &options,
                                 const std::string &function);

  const std::string &remarks() const { return remarks_; }
  const char *planJson() const { return pagefold_function_plan_json(function_); }

  /// Launches once. The results are allocated by `makeResults`.
  Status launch(const std::vector<Array> &arguments, const std::vector<Array> &results);
  /// Counters of the last launch, as JSON.
  Result<std::string> counters() const;

private:
  struct ModuleFree {
    void operator()(pagefold_module *module) const { pagefold_module_free(module); }
  };
  Status load(const void *bytes, size_t size, const std::string &function);
  Status makeWorkspace();

  std::unique_ptr<pagefold_module, ModuleFree> module_;
  pagefold_function *function_ = nullptr; ///< owned by the module
  std::string remarks_;
  Array workspace_;
};

/// Result arrays, filled with NaN so that an element that is not written shows. Extents that the
/// graph leaves open are those of the tokens.
Result<std::vector<Array>> makeResults(Graph &graph, const std::vector<Array> &arguments);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_LAUNCH_H
