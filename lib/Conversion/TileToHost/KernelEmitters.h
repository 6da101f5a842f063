//===- KernelEmitters.h - one function for each level-2 kernel --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H
#define PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H

#include "Kernel.h"

namespace pagefold::host {

/// Fills the body of a kernel. Each runs on all workers, but the batch's check on one.
void emitBatch(Kernel &kernel, tile::BatchOp op);
void emitAppend(Kernel &kernel, tile::AppendOp op);
void emitRows(Kernel &kernel, tile::RowsOp op);
void emitMerge(Kernel &kernel, tile::MergeOp op);
void emitMergeSplits(Kernel &kernel, tile::MergeSplitsOp op);
mlir::LogicalResult emitSpace(Kernel &kernel, tile::SpaceOp op);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H
