//===- LaunchRecipe.h - how a ring kernel is launched -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_LAUNCHRECIPE_H
#define PAGEFOLD_TARGET_HOPPER_LAUNCHRECIPE_H

#include "llvm/ADT/StringRef.h"

namespace pagefold::hopper {

/// The attribute that tells how to launch a kernel. hopper-to-nvvm gives it to the kernels that
/// were hopper.kernels, and to no other function.
inline constexpr llvm::StringLiteral kLaunchRecipe = "hopper.launch";

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_LAUNCHRECIPE_H
