//===- MaskContext.h - the run-time values of a mask ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_MASKCONTEXT_H
#define PAGEFOLD_CONVERSION_TILETOHOST_MASKCONTEXT_H

#include "ProductForm.h"
#include "pagefold/Analysis/TileVisits.h"

namespace pagefold::host {

/// The mask's symbols for the item's request, as index or i32.
llvm::SmallVector<mlir::Value> maskSymbols(Kernel &kernel, tile::MaskOp op, const Item &item,
                                           bool asIndex);

/// A row table's value at query row `q` (i32, scalar or vector).
mlir::Value emitRowValue(Kernel &kernel, mlir::Value table, const Item &item, mlir::Value q,
                         int64_t lanes);

/// What the visit list of an item is computed from; index values.
VisitContext visitContext(Kernel &kernel, tile::MaskOp op, const Item &item, int64_t kvTile);

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_MASKCONTEXT_H
