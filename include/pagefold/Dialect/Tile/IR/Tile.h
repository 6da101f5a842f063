//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Level 2: how attention is computed. See TileBase.td for the model and docs/levels/tile.md for one
// program at this level.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_TILE_IR_TILE_H
#define PAGEFOLD_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "pagefold/Dialect/Tile/IR/TileDialect.h.inc"
#include "pagefold/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "pagefold/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "pagefold/Dialect/Tile/IR/TileOps.h.inc"

namespace pagefold::tile {

/// The types of the region arguments that carry indices into a score or epilogue region: i32 each.
/// Score: (s, q, k, h, b, position, token); epilogue: (o, q, h, d, position, token); row map:
/// (value, token, h, d). The first is f32.
inline constexpr unsigned kScoreArgs = 7, kEpilogueArgs = 6, kRowMapArgs = 4;

/// Whether the kernel of such a space decides by itself, on the device, how keys are split, and
/// merges.
bool splitsOnDevice(ScheduleKind kind);

/// Appends a block with `numArgs` scalar region arguments to `region`, and returns it.
mlir::Block *addScalarBlock(mlir::Region &region, unsigned numArgs, mlir::Location loc);

/// Whether a region yields its first argument and does nothing else.
bool isIdentity(mlir::Region &region);

/// Whether one of two kernels of rows (tile.rows, tile.append) writes a buffer that the other reads
/// or writes. Arguments of a function are different buffers.
bool conflict(mlir::Operation *rows, mlir::Operation *others);

} // namespace pagefold::tile

#endif // PAGEFOLD_DIALECT_TILE_IR_TILE_H
