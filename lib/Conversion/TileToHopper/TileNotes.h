//===- TileNotes.h - what travels with a query tile -------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A query tile goes from the scheduler to the keys' warp, from there to the values' warp and to the
// consumers: as the note of a ring's stage, an end after the last one.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILENOTES_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILENOTES_H

#include "HopperBuilder.h"

namespace pagefold::hopper {

/// The words of a note; i32.
struct TileNote {
  enum Word : int64_t {
    FirstRow,   ///< query row of the request; -1 ends the notes
    Head,       ///< of the tile: a query head, or where tiles are packed a KV head
    Request,    ///<
    FirstToken, ///< of the request
    QLen,       ///<
    KVLen,      ///<
    Keys,       ///< Request::keys, or 0
    NewestTile, ///< the first KV tile that is visited
    FirstRange, ///< begin and end of each range of KV tiles that follow, newest first
    Part = 16,  ///< of the KV tiles, from 0
    Parts,      ///< of this tile's
    Slot,       ///< of the tile's first part among the partial states
    Words = 20
  };
};

/// The note after the last tile's.
Values endOfNotes(HopperBuilder &b);

/// Hands a note over in a turn's stage that brings nothing else; of one lane.
void handNote(HopperBuilder &b, mlir::Value ring, mlir::Value turn, mlir::ValueRange note);

/// For each note of the ring until the end: `body(KV turn, turn of the note, note)`, which returns
/// the next KV turn. Returns the turns behind the last tile: KV's, and that of the end's note.
Values
forEachNote(HopperBuilder &b, mlir::Value ring,
            llvm::function_ref<mlir::Value(mlir::Value, mlir::Value, mlir::ValueRange)> body);

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_TILENOTES_H
