//===- RequestBounds.h - the declared maxima of a batch ---------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function declares the maxima of the requests that it is called for. A batch whose requests are
// others, such as the one request that reads a shared prefix for all, has its own.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_REQUESTBOUNDS_H
#define PAGEFOLD_DIALECT_TILE_IR_REQUESTBOUNDS_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::tile {

/// The attribute of a tile.batch with maxima of its own, an #attn.bounds.
inline constexpr llvm::StringLiteral kBoundsAttr = "tile.bounds";

/// The maxima of a batch's requests: its own, or its function's. Null where neither declares any.
attn::BoundsAttr boundsOf(BatchOp batch);
/// Those of the batch that a space is of.
attn::BoundsAttr boundsOf(SpaceOp space);

} // namespace pagefold::tile

#endif // PAGEFOLD_DIALECT_TILE_IR_REQUESTBOUNDS_H
