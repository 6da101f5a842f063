//===- StreamedNewRows.h - the rows that a kernel appends -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A streaming kernel with an append of its own reads a cache without the new rows, or while they
// are being written: the warp that folds a slice with new keys makes the rows itself, and puts them
// into the slice's stage in place of what came from memory. So nobody waits for the pages. They are
// written, each row once, by the warp that folds the last piece of a segment.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDNEWROWS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDNEWROWS_H

#include "PageTable.h"
#include "RowPairs.h"
#include "StreamedSegments.h"
#include <vector>

namespace pagefold::hopper {

/// Those of one piece.
class NewRows {
public:
  /// Asks for the rows, where the piece has to do with them.
  NewRows(SpaceKernel &kernel, const StreamedSpace &space, const Segment &segment,
          SliceVisits &visits);
  /// Applies the regions, and writes the pages.
  void write();
  /// Puts those of the slice from `firstKey` on into its stages, once these are filled.
  void put(mlir::Value firstKey, mlir::Value turn, const StreamedRings &rings);
  /// Behind the slice's fold: its stages may be filled again.
  void release(mlir::Value firstKey);

private:
  /// As many tokens as the warp's lanes hold at once.
  struct Rows {
    mlir::Value position, present;
    mlir::Value page; ///< as the table has it
    RowPairs pairs;
    Values words; ///< as elements of the cache; all that is left once the pages are written
  };
  struct Side {
    mlir::Value pages, scales; ///< the latter of elements of 8 bits
    PairLayout layout;
    std::vector<Rows> rows;
  };
  void load(mlir::Value source, mlir::Value pages, mlir::Value scales, mlir::Region &body);
  Values makeWords(Side &side, Rows &rows);
  void write(const Side &side, const Rows &rows, mlir::Value page);
  mlir::Value isInSlice(mlir::Value firstKey); ///< whether one is, perhaps

  SpaceKernel &kernel;
  HopperBuilder &b;
  const StreamedSpace &space;
  const Segment &segment;
  PageTable table;
  mlir::Value old; ///< keys that were there before
  mlir::Value writes, needed;
  std::vector<Side> sides;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDNEWROWS_H
