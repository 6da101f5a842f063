//===- StreamedSpace.h - a space as the streaming schedule sees it -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few query rows read a long history: the warps of all multiprocessors share it out in *slices* of
// 16 keys of one KV head. Nothing but the ring of a warp stands between memory and its products.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSPACE_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSPACE_H

#include "FoldSpace.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "pagefold/Target/Hopper/StreamingForm.h"

namespace pagefold::hopper {

/// CTAs among which a launch shares its work: more have none.
inline constexpr int64_t kMaxStreams = kHopper.multiprocessors;

struct StreamedSpace : FoldSpace {
  /// Requires a space that streamingRefusal() takes. `bounds`: those of its function.
  StreamedSpace(tile::SpaceOp space, attn::BoundsAttr bounds);

  int64_t warps, stages;
  tile::AppendOp append; ///< of the requests' new tokens, which this kernel does; or null
  /// Whether the kernels of the function before this one leave keys and values as they are, but for
  /// the rows of the requests' new tokens.
  bool keepsOldKeys;
  /// Keys of 8 bits become f16, and so do queries and weights.
  bool isBytes() const { return element.getIntOrFloatBitWidth() == 8; }
  mlir::Type productElement() const;
  int64_t keyBlocks() const { return kvTile / kBlockKeys; } ///< of a slice
  /// Keys that one box of TMA brings of a page, or of dense rows; 0: they are gathered.
  int64_t boxKeys() const;
  bool isGathered() const { return boxKeys() == 0; }
  int64_t packedRows; ///< query rows of a request times the group
  /// Where segments come in pieces that depend on nothing but their own slices: the most pieces of
  /// one. 0: they are cut anywhere.
  int64_t fixedPieces;

  /// Result blocks have 8 columns, each a packed row.
  int64_t columnBlocks() const { return (packedRows + 7) / 8; }
  /// Products along the head dimension, 16 elements each: K's depth, V's columns.
  int64_t keySteps() const { return keyRing().depth() / 16; }
  int64_t valueSteps() const { return valueRing().depth() / 16; }
  RingType keyRing() const { return ring(kDim); }
  RingType valueRing() const { return ring(vDim); }

  // States in words. A row's state is its accumulator, then its maximum and sum.
  int64_t stateWords() const { return hopper::stateWords(vDim); }
  int64_t areaWords() const { return packedRows * stateWords(); }
  /// Vectors of four that a lane holds of a merged row.
  int64_t laneVectors() const { return (vDim + 127) / 128; }

private:
  RingType ring(int64_t dim) const;
  Order orderOf(int64_t dim) const;
};

/// A warp's own.
struct StreamedRings {
  mlir::Value keys, values, warp;
};

/// What a piece of a segment that a warp leaves in shared memory is.
struct PieceNote {
  enum Word : int64_t {
    Segment,  ///< where it starts in the line; -1: no piece
    Leads,    ///< 1: the segment's first piece in this CTA
    FirstCta, ///< of those that read the segment
    LastCta,
    KVHead,
    Request,
    FirstToken,
    QLen,
    KVLen,
    Words = 12
  };
  static_assert(Words == kPieceWords);
};

/// Where warps leave states that are not whole: each at most two, of the first and of the last
/// segment that it reads. The second lies in the memory of the warp's own keys: nothing comes after
/// the last segment. Area 2 w + i is that of warp w.
struct StateAreas {
  /// The rings are the kernel's first allocations.
  StateAreas(HopperBuilder &b, const StreamedSpace &space, const StreamedRings &rings);

  mlir::Value stateStart(HopperBuilder &b, mlir::Value area) const; ///< its first word
  mlir::Value noteStart(HopperBuilder &b, mlir::Value area) const;

  int64_t count;
  mlir::Value words;

private:
  int64_t areaWords, ringWords; ///< of a warp
  int64_t firstState, firstNote;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSPACE_H
