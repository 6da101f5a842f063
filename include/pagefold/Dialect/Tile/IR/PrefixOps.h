//===- PrefixOps.h - shared prefixes in the tile dialect --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS_H
#define PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "pagefold/Dialect/Tile/IR/PrefixOps.h.inc"

#endif // PAGEFOLD_DIALECT_TILE_IR_PREFIXOPS_H
