//===- StreamedGather.h - slices gathered row by row ------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of pages that boxes cannot bring. All lanes copy the rows of a slice, and each one's arrival
// follows its copies by itself. A lane finds one row of a block: 32 rows, those of one slice of
// bytes or of two of 16 bits. The next block's ids are read together with the first one's, so that
// a ring's first round waits for the table once.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDGATHER_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDGATHER_H

#include "RowGather.h"
#include "StreamedSource.h"

namespace pagefold::hopper {

class StreamedGather : public StreamedSource {
public:
  StreamedGather(SpaceKernel &kernel, const StreamedSpace &space, SegmentLine &line,
                 const StreamedRings &rings);

private:
  /// Row `lane` of a block of visits: its key, and its page as the table has it.
  struct Row {
    mlir::Value key, page;
  };
  Row rowOf(const State &state, mlir::Value firstVisit);
  void lookUp(State &state, mlir::Value isNew) override;
  void fill(const State &state, mlir::Value turn, bool ahead) override;

  RowGather keyRows, valueRows;
};

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_STREAMEDGATHER_H
