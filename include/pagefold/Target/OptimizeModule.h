//===- OptimizeModule.h - LLVM's passes on a module -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_OPTIMIZEMODULE_H
#define PAGEFOLD_TARGET_OPTIMIZEMODULE_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace pagefold {

/// Runs a pipeline in the words of LLVM's `opt -passes=`, which must be one that parses.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef passes);

} // namespace pagefold

#endif // PAGEFOLD_TARGET_OPTIMIZEMODULE_H
