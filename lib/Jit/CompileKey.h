//===- CompileKey.h - what an artifact is kept by ---------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_COMPILEKEY_H
#define PAGEFOLD_LIB_JIT_COMPILEKEY_H

#include "mlir/IR/BuiltinOps.h"
#include "pagefold/Pipeline/Options.h"
#include <array>
#include <string>

namespace pagefold::jit {

/// A BLAKE3 hash of all that decides an artifact's bytes.
struct CompileKey {
  std::array<uint8_t, 32> bytes;
  std::string hex() const;
  bool operator<(const CompileKey &other) const { return bytes < other.bytes; }
};

/// The key of a graph as parseGraph() gives it; `source` is what it was parsed from. It covers
///   - the graph, as bytecode without locations: spelling, names of values and aliases are gone;
///   - every option that is not about keeping artifacts, and the source where the artifact holds
///     that;
///   - the target: this machine's processor, the GPU's chip, and the ptxas that makes cubins;
///   - the compiler: which build of it, of LLVM and of MLIR (CompilerIdentity.h).
CompileKey compileKey(mlir::ModuleOp graph, llvm::StringRef source, const CompileOptions &options);

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_COMPILEKEY_H
