//===- WorkProgram.h - arithmetic of a visit list as text -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOST_WORKPROGRAM_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOST_WORKPROGRAM_H

#include "pagefold/Analysis/TileVisits.h"

namespace pagefold {

/// Programs of the runtime (runtime/lib/core/WorkProgram.h) for one mask and KV tile.
struct WorkPrograms {
  llvm::SmallVector<llvm::StringRef> ranges; ///< kinds of the visit list
  std::string visits, test, visible;
};
WorkPrograms writeWorkPrograms(mlir::MLIRContext *context, const MaskSets &mask, int64_t kvTile);

} // namespace pagefold

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOST_WORKPROGRAM_H
