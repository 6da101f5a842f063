//===- Cubin.h - machine code of PTX ----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_CUBIN_H
#define PAGEFOLD_TARGET_HOPPER_CUBIN_H

#include "mlir/IR/Location.h"
#include <optional>
#include <string>

namespace pagefold::hopper {

/// What the ptxas on the PATH says of its version, asked once of each file; nothing where there is
/// none.
std::optional<std::string> ptxasVersion();

/// Assembles PTX with CUDA's ptxas, which is looked for on the PATH. Errors are diagnostics at
/// `location`: no ptxas, one that is too old, or its own words.
mlir::FailureOr<std::string> assembleCubin(llvm::StringRef ptx, mlir::Location location);

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_CUBIN_H
