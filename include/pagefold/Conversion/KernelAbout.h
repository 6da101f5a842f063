//===- KernelAbout.h - what a plan says of a kernel to explain it -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_KERNELABOUT_H
#define PAGEFOLD_CONVERSION_KERNELABOUT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace pagefold {

/// What a lowering decides about a space beyond its schedule. The names are those of SpacePlan and
/// KernelAbout (runtime/KernelAbout.h).
struct SpaceFacts {
  bool packed = true;
  bool oneRange = false;
  bool neverEmpty = false;
  llvm::StringRef share = "items";
  int64_t groupRows = 0;
  int64_t rowUnit = 1, workers = 1;
  bool tensorCores = false;
  int64_t stages = 0;
  llvm::StringRef pages = "loads";
  int64_t boxKeys = 0;
};

/// The key of a kernel's entry under which replaceByPlan() finds this.
inline constexpr llvm::StringLiteral kAboutKey = "about";

/// What explains the kernel of a level-2 op: the keys of KernelAbout in docs/artifact.md.
mlir::DictionaryAttr aboutKernel(mlir::Operation *op, const SpaceFacts &facts = {});

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_KERNELABOUT_H
