//===- Compile.h - compiles, or takes what is kept --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The just-in-time compile of every way in that loads what it compiles: the C ABI, and through it
// Python and pagefold-run. Artifacts are kept in memory and on disk (docs/howto/keep-artifacts.md);
// pagefold-compile, which writes a file, goes through Pipeline.h.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_JIT_COMPILE_H
#define PAGEFOLD_JIT_COMPILE_H

#include "pagefold/Pipeline/Options.h"
#include "pagefold/runtime/Error.h"

namespace pagefold::jit {

/// What a compile gives.
struct Compiled {
  std::string artifact; ///< the bytes that the runtime loads
  std::string remarks;  ///< the decisions taken, a line each
};

/// Compiles MLIR text or bytecode, or takes the artifact of an earlier compile of the same graph
/// with the same options by the same compiler. The last remark says which. Thread-safe.
runtime::Result<Compiled> compile(llvm::StringRef graph, const CompileOptions &options);

} // namespace pagefold::jit

#endif // PAGEFOLD_JIT_COMPILE_H
