//===- StreamingForm.h - which spaces are streamed --------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOPPER_STREAMINGFORM_H
#define PAGEFOLD_TARGET_HOPPER_STREAMINGFORM_H

#include "pagefold/Target/Hopper/PipelinedForm.h"

namespace pagefold::hopper {

/// Packed rows that the streaming schedule takes: two result blocks of eight columns.
inline constexpr int64_t kMaxStreamedRows = 16;
/// Rows of a block: a slice has as many keys, or, of keys of 8 bits, twice as many.
inline constexpr int64_t kBlockKeys = 16;
/// 32-bit words that a warp leaves with a state (PieceNote).
inline constexpr int64_t kPieceWords = 12;

int64_t sliceKeys(mlir::Type element);

/// How a CTA of the streaming schedule uses its shared memory.
struct StreamingShape {
  int64_t warps;
  int64_t stages; ///< of each warp's ring: slices under way
};

/// Words of a packed row's state in shared memory. Beside accumulator, maximum and sum two more, so
/// that the rows of a column meet no bank twice.
inline constexpr int64_t stateWords(int64_t vDim) { return vDim + 4; }

/// The most warps with two slices each under way, or more; nothing where there is no room.
std::optional<StreamingShape> streamingShape(tile::KVType kv, int64_t packedRows);

/// A piece of a segment has so many slices at least where cuts are fixed (compile option
/// batch-invariant).
inline constexpr int64_t kMinPieceSlices = 16;
/// Into how many pieces it is cut at most then: as many as their states have room for in the
/// workspace, and as are worth being merged.
int64_t fixedPieces(tile::SpaceOp space, attn::BoundsAttr bounds);

/// Why lanes that hold a row in pairs of elements do not apply a row region to it, as the end of a
/// sentence; empty if they do. `span`: elements that they have together before the first one has
/// its next pair.
std::string pairsRefusal(mlir::Region &body, int64_t span);
/// Lanes that share a row of new keys or values with this region; 0: none can.
int64_t newRowLanes(int64_t dim, mlir::Region &body);
/// Why a space that is streamed does not do the append before it; empty if it does.
std::string appendRefusal(tile::SpaceOp space, tile::AppendOp append, attn::BoundsAttr bounds);

/// Why the streaming schedule does not take a space, as the end of a sentence; empty if it does.
/// `bounds`: those of its function.
std::string streamingRefusal(tile::SpaceOp space, attn::BoundsAttr bounds,
                             QueryRegion region = QueryRegion::InSpace);

} // namespace pagefold::hopper

#endif // PAGEFOLD_TARGET_HOPPER_STREAMINGFORM_H
