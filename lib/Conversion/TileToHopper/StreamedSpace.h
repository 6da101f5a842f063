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
  /// Requires a space that streamingRefusal() takes. `maxQLen`: the declared query rows of a
  /// request.
  StreamedSpace(tile::SpaceOp space, int64_t maxQLen);

  int64_t warps, stages;
  int64_t packedRows; ///< query rows of a request times the group

  /// Result blocks have 8 columns, each a packed row.
  int64_t columnBlocks() const { return (packedRows + 7) / 8; }
  /// Products along the head dimension: K's depth, V's columns.
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
};

/// A warp's own.
struct StreamedRings {
  mlir::Value keys, values, warp;
};

/// What a piece of a segment that a warp leaves in shared memory is.
struct PieceNote {
  enum Word : int64_t {
    Segment, ///< the slice in the order of all at which the segment starts; -1: no piece
    Slices,  ///< of the segment
    Flags,   ///< 1: the segment's first piece in this CTA, 2: its first slice, 4: its last slice
    KVHead,
    Request,
    FirstToken,
    QLen,
    KVLen,
    Words
  };
  static_assert(Words == kPieceWords);
};

/// Where warps leave states that are not whole: each at most two, of the first and of the last
/// segment that it reads.
struct StateAreas {
  StateAreas(HopperBuilder &b, const StreamedSpace &space);

  int64_t count;
  mlir::Value words;
  int64_t firstNote; ///< word of the notes, behind the states
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDSPACE_H
