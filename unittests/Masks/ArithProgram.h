//===- ArithProgram.h - runs emitted arith on numbers -----------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A straight-line function of arith ops on index or i32, run on numbers. It is what lets a test
// compare emitted IR with enumeration over millions of tiles. Fails the test on an op it does not
// know, and on a value that does not fit 32 bits.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_UNITTESTS_MASKS_ARITHPROGRAM_H
#define PAGEFOLD_UNITTESTS_MASKS_ARITHPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pagefold::test {

class ArithProgram {
public:
  explicit ArithProgram(mlir::func::FuncOp function);
  /// The results of the function's return. The reference holds until the next run.
  llvm::ArrayRef<int64_t> run(llvm::ArrayRef<int64_t> arguments);
  /// Ops other than constants and the return.
  size_t size() const { return steps.size(); }

private:
  struct Step {
    int64_t (*compute)(int64_t a, int64_t b, int64_t c);
    unsigned result, operands[3];
  };
  llvm::SmallVector<Step> steps;
  llvm::SmallVector<int64_t> slots; ///< arguments, constants and results of ops
  llvm::SmallVector<unsigned> resultSlots;
  llvm::SmallVector<int64_t> results;
};

} // namespace pagefold::test

#endif // PAGEFOLD_UNITTESTS_MASKS_ARITHPROGRAM_H
