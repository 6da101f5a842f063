//===- Cubin.h - machine code of PTX ----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_CUBIN_H
#define PAGEFOLD_TARGET_HOPPER_CUBIN_H

#include "mlir/IR/Location.h"
#include <map>
#include <optional>
#include <string>

namespace pagefold::hopper {

/// What the ptxas on the PATH says of its version, asked once of each file; nothing where there is
/// none.
std::optional<std::string> ptxasVersion();

/// What ptxas says of a kernel's threads.
struct RegisterUse {
  int64_t registers = 0, spilled = 0; ///< the second in bytes
};
using RegisterUses = std::map<std::string, RegisterUse>; ///< by kernel

/// Assembles PTX with CUDA's ptxas, which is looked for on the PATH. Errors are diagnostics at
/// `location`: no ptxas, one that is too old, or its own words.
/// `registers`, when not null, receives what each kernel's threads have.
mlir::FailureOr<std::string> assembleCubin(llvm::StringRef ptx, mlir::Location location,
                                           RegisterUses *registers = nullptr);

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_CUBIN_H
