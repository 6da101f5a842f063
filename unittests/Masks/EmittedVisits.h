//===- EmittedVisits.h - a mask's visit list as a program -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_MASKS_EMITTEDVISITS_H
#define PAGEFOLD_UNITTESTS_MASKS_EMITTEDVISITS_H

#include "ArithProgram.h"
#include "pagefold/Analysis/TileVisits.h"

namespace pagefold::test {

/// A function under construction: its block arguments stand for the symbols of TileBounds, followed
/// by `numExtra` further values.
class EmittedFunction {
public:
  EmittedFunction(mlir::MLIRContext *context, mlir::Type type, const TileBounds &bounds,
                  int64_t tileSize, unsigned numExtra);

  mlir::OpBuilder builder;
  mlir::Location loc;
  VisitContext visits;
  llvm::SmallVector<mlir::Value> extra;

  /// Ends the function, verifies it, and checks that nothing in it could be folded further.
  mlir::func::FuncOp finish(mlir::ValueRange results);

private:
  mlir::OwningOpRef<mlir::func::FuncOp> function;
};

/// The visit list of a mask for one tile size, run on numbers.
class VisitProgram {
public:
  VisitProgram(mlir::Type type, const TileBounds &bounds, int64_t tileSize);

  struct Range {
    int64_t begin, end;
    VisitKind kind;
  };
  llvm::SmallVector<Range> visits(llvm::ArrayRef<int64_t> symbols);
  struct Test {
    bool visit, partial;
  };
  Test test(llvm::ArrayRef<int64_t> symbols, int64_t tile);
  size_t numVisitOps() const { return ranges->size(); }
  size_t numTestOps() const { return tests->size(); }

private:
  llvm::SmallVector<VisitKind> kinds;
  std::optional<ArithProgram> ranges, tests;
};

} // namespace pagefold::test

#endif // PAGEFOLD_UNITTESTS_MASKS_EMITTEDVISITS_H
