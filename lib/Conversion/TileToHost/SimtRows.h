//===- SimtRows.h - kernels of rows whose lanes share a row -----*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rope, norm and append cost on a GPU is the way to memory and back. Neighbouring threads of a
// warp share a row, so that they read and write whole lines, and each takes at once what it needs
// of it. The rows of all ops of a kernel are numbered one behind the other: they run side by side.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_SIMTROWS_H
#define PAGEFOLD_CONVERSION_TILETOHOST_SIMTROWS_H

#include "SimtKernel.h"

namespace pagefold::host {

/// How lanes share a row: in pieces of `width` elements, piece p being that of lane p mod `lanes`.
/// The two elements of a pair that a rope turns are always one lane's.
struct RowShare {
  int64_t width, lanes;
};

/// The share of a row of `dim` elements that goes through `body`, among at most `maxLanes` lanes.
RowShare shareOfRow(int64_t dim, mlir::Region &body, int64_t maxLanes);

/// The ops of rows that a kernel for `op` does: itself, or those of a tile.together. None where it
/// is something else.
llvm::SmallVector<mlir::Operation *> rowWorks(mlir::Operation *op);

/// Threads that have work where there are so many tokens.
int64_t rowThreads(llvm::ArrayRef<mlir::Operation *> works, int64_t tokens, int64_t maxLanes);

void emitSimtRows(SimtKernel &kernel, llvm::ArrayRef<mlir::Operation *> works, int64_t maxLanes);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_SIMTROWS_H
