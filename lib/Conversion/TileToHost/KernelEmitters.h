//===- KernelEmitters.h - one function for each level-2 kernel --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H
#define PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H

#include "Kernel.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "pagefold/Dialect/Tile/IR/PrefixOps.h"

namespace pagefold::host {

class HostKernel;

/// Fills the body of the kernel of an op with work. Its workers draw tickets until none is left.
mlir::LogicalResult emitWork(Kernel &kernel, mlir::Operation *op);

/// Whether emitWork knows the op.
bool isWork(mlir::Operation *op);

/// The checks of all requests, by one worker of the host.
void emitBatch(HostKernel &kernel, tile::BatchOp op);

void emitAppend(Kernel &kernel, tile::AppendOp op);
void emitRows(Kernel &kernel, tile::RowsOp op);
void emitMerge(Kernel &kernel, tile::MergeOp op);
void emitMergeSplits(Kernel &kernel, tile::MergeSplitsOp op);
/// By the workers of one team.
void emitCutPrefix(Kernel &kernel, tile::CutPrefixOp op);
mlir::LogicalResult emitSpace(Kernel &kernel, tile::SpaceOp op);

/// An elementwise op: element by element, or as it is, for one worker.
void emitElementwise(Kernel &kernel, mlir::linalg::GenericOp op);
void cloneElementwise(Kernel &kernel, mlir::linalg::GenericOp op);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_KERNELEMITTERS_H
