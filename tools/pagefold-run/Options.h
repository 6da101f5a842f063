//===- Options.h - the command line -----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TOOLS_PAGEFOLD_RUN_OPTIONS_H
#define PAGEFOLD_TOOLS_PAGEFOLD_RUN_OPTIONS_H

#include "Program.h"

namespace pagefold::run {

struct Options {
  std::string graph;
  std::vector<std::string> inputs;
  std::string outputs;
  std::string function;
  std::string emit; ///< ptx, cubin or bundle: written in place of running; else empty
  CompileOptions compile;
  bool check = false;
  std::string explain; ///< text or json: printed; else empty
  bool time = false;
  unsigned runs = 10;
  uint64_t seed = 0;
};

/// Parses the command line; ends the process after --help or an error. The values are copied out of
/// LLVM's option objects at once: the linker that runs inside a compile sets those back to their
/// defaults.
Options parseOptions(int argc, char **argv);

} // namespace pagefold::run

#endif // PAGEFOLD_TOOLS_PAGEFOLD_RUN_OPTIONS_H
