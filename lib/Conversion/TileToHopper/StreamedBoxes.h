//===- StreamedBoxes.h - slices as boxes of TMA -----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of dense rows, and of pages that are multiples of eight keys: a box brings as many as lie
// together both in a page and in a slice.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDBOXES_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDBOXES_H

#include "StreamedSource.h"

namespace pagefold::hopper {

class StreamedBoxes : public StreamedSource {
public:
  StreamedBoxes(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                const StreamedRings &rings);

private:
  /// The first keys of 32 visits, one a lane, and the pages of their boxes.
  void lookUp(State &state, mlir::Value isNew) override;
  void fill(const State &state, mlir::Value turn, bool ahead) override;
  mlir::Value mapOf(const Side &side);
  /// `rows`, `pages`: of each box; no pages of dense rows.
  void fillSide(const Side &side, mlir::Value map, mlir::Value turn, mlir::Value head,
                const Values &rows, const Values &pages);

  int64_t boxes; ///< of a slice
  mlir::Value keyMap, valueMap;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDBOXES_H
