//===- CompilerIdentity.h - which build compiles ----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_JIT_COMPILERIDENTITY_H
#define PAGEFOLD_LIB_JIT_COMPILERIDENTITY_H

#include <string>

namespace pagefold::jit {

/// Names the build of this compiler: the linker's build ids, hashes of their contents, of the
/// object that holds this code and of those that hold LLVM and MLIR. A version number would stay
/// the same over a change of a lowering. Empty where one of them was linked without --build-id.
const std::string &compilerIdentity();

} // namespace pagefold::jit

#endif // PAGEFOLD_LIB_JIT_COMPILERIDENTITY_H
