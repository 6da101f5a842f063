//===- HostCode.h - machine code for the host -------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOST_HOSTCODE_H
#define PAGEFOLD_TARGET_HOST_HOSTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace pagefold::host {

/// A processor to compile for. Empty fields: this machine.
struct HostTarget {
  std::string triple, cpu;
  std::vector<std::string> features; ///< LLVM's names, without '+'

  static HostTarget ofThisMachine();
  /// A named cpu of this architecture ("x86-64-v3"): features are those that the name implies.
  static HostTarget ofCpu(llvm::StringRef cpu);
};

/// Translates a module of the llvm dialect to LLVM IR, optimises it, and links an ELF shared
/// object.
mlir::FailureOr<std::string> emitSharedObject(mlir::ModuleOp module, const HostTarget &target);

/// The optimised LLVM IR on the way there, as text.
mlir::FailureOr<std::string> emitLLVMIR(mlir::ModuleOp module, const HostTarget &target);

} // namespace pagefold::host

#endif // PAGEFOLD_TARGET_HOST_HOSTCODE_H
