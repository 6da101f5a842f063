//===- ConvertPrefix.h - a cache in two parts, on buffers -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTPREFIX_H
#define PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTPREFIX_H

#include "mlir/IR/Builders.h"
#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold {

/// What attn.cut_prefix makes, on level 2.
struct CutCache {
  mlir::Value shared, all, rest; ///< KV, row offsets, KV
  attn::BoundsAttr sharedBounds; ///< the maxima of the one request that reads the shared keys
};

/// Cuts the KV of `batch`. Tables, lengths and offsets are places in the workspace that a
/// tile.cut_prefix fills; the pages are those of the KV.
CutCache cutPrefix(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value length,
                   tile::BatchOp batch, attn::BoundsAttr bounds);

} // namespace pagefold

#endif // PAGEFOLD_CONVERSION_ATTNTOTILE_CONVERTPREFIX_H
