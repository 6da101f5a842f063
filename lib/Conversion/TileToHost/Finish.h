//===- Finish.h - from a state to output and log-sum-exp --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_CONVERSION_TILETOHOST_FINISH_H
#define PAGEFOLD_CONVERSION_TILETOHOST_FINISH_H

#include "Kernel.h"

namespace pagefold::host {

/// The state of one row: max (natural scale), sum, and the accumulator acc[accIndices..., d].
struct RowState {
  mlir::Value max, sum, acc;
  HostBuilder::Values accIndices;
};

/// Where a finished row goes; index values. `row` is the query row in its request.
struct OutputPlace {
  mlir::Value row, head, position, token;
};

/// Divides, applies the epilogue, stores output and log-sum-exp: tile.finish on one row.
class Finish {
public:
  Finish(Kernel &kernel, mlir::Value output, mlir::Value lse, mlir::Value sinks,
         mlir::Region &epilogue);
  void emit(const RowState &state, const OutputPlace &place);

private:
  Kernel &kernel;
  HostBuilder &b;
  mlir::Value output, lse, sinks;
  mlir::Region &epilogue;
};

} // namespace pagefold::host

#endif // PAGEFOLD_CONVERSION_TILETOHOST_FINISH_H
