//===- InitAll.h - what every Pagefold tool registers -------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One place for dialects and one for passes: a new one is a line in lib/InitAll.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_INITALL_H
#define PAGEFOLD_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pagefold {

/// Registers our dialects, the upstream ones that graphs and later levels use, and their
/// extensions.
void registerPagefold(mlir::DialectRegistry &registry);

/// Registers our passes and the upstream ones beside them, with the process's pass registry.
void registerPagefoldPasses();

} // namespace pagefold

#endif // PAGEFOLD_INITALL_H
