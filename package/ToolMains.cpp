//===- ToolMains.cpp - the tools inside the package's library -------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the package one library holds LLVM, the compiler and the tools, so that LLVM is shipped once
// and none of its symbols is exported. A tool is a program of one line that calls
// pagefold_tool_main with its name. The entries are the tools' own main functions, compiled with
// another name (CMakeLists.txt), as LLVM does it for its multicall driver.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstring>

int pagefold_compile_main(int argc, char **argv);
int pagefold_opt_main(int argc, char **argv);
int pagefold_run_main(int argc, char **argv);
int pagefold_translate_main(int argc, char **argv);

namespace {
struct Tool {
  const char *name;
  int (*main)(int argc, char **argv);
};
} // namespace

static constexpr Tool kTools[] = {{"pagefold-compile", pagefold_compile_main},
                                  {"pagefold-opt", pagefold_opt_main},
                                  {"pagefold-run", pagefold_run_main},
                                  {"pagefold-translate", pagefold_translate_main}};

extern "C" __attribute__((visibility("default"))) int pagefold_tool_main(const char *name, int argc,
                                                                         char **argv) {
  for (const Tool &tool : kTools)
    if (std::strcmp(tool.name, name) == 0)
      return tool.main(argc, argv);
  std::fprintf(stderr, "libpagefold.so holds no tool named %s: it is of another release\n", name);
  return 1;
}
