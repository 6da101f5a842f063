//===- PipelinedForm.h - which spaces the pipeline takes --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_PIPELINEDFORM_H
#define PAGEFOLD_TARGET_HOPPER_PIPELINEDFORM_H

#include "pagefold/Dialect/Tile/IR/Tile.h"

namespace pagefold::hopper {

/// Where the region of a space's load_q is applied: where it stands, or by a kernel before the
/// space (tile-stage-queries), so that it may do anything.
enum class QueryRegion { InSpace, Staged };

/// Why no form with rings takes a space, whatever its keys are, as the end of a sentence; empty if
/// one may.
std::string ringRefusal(tile::SpaceOp space, QueryRegion region = QueryRegion::InSpace);
/// Of the queries; null where the space loads none.
mlir::Type queryElement(tile::SpaceOp space);

/// Why the pipelined form does not take a space, as the end of a sentence; empty if it does.
std::string pipelinedRefusal(tile::SpaceOp space, QueryRegion region = QueryRegion::InSpace);

/// The attribute of a space whose query tiles hold the rows of all heads of a group, a unit: each
/// query row takes groupRows() rows of a tile, one for each head. Without it a tile is of one head.
inline constexpr llvm::StringLiteral kPackedAttr = "tile.packed";

/// Rows of a packed tile that one query row takes. A power of two, so that one box of TMA, of whole
/// query rows, fills a tile; what the group lacks to it is padding.
int64_t groupRows(int64_t group);
/// Whether packing pays for a space of at most `queryRows` rows a request: where it at least halves
/// the query tiles, of `qTile` rows.
bool packingPays(int64_t group, int64_t queryRows, int64_t qTile);

/// Why a space with a pipelined schedule cannot be packed as its attribute says; empty if it can,
/// or has none.
std::string packedRefusal(tile::SpaceOp space);

/// Whether a buffer is an argument of the function, or one row a token in the workspace: what a
/// launch can describe by an address.
bool isPlainBuffer(mlir::Value buffer);

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_PIPELINEDFORM_H
