//===- CapturingRegion.h - a region and the values bound to it --*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The regions of attn.attention and attn.append are isolated: their block takes a few arguments of
// its own, then one for each capture, a value from outside that the op takes as operand.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_CAPTURINGREGION_H
#define PAGEFOLD_DIALECT_ATTN_IR_CAPTURINGREGION_H

#include "mlir/IR/Operation.h"

namespace pagefold::attn {

struct CapturingRegion {
  llvm::StringRef clause;           ///< its keyword in the text: score, epilogue, query, key, value
  mlir::Region *region;             ///< empty, or one block
  mlir::MutableOperandRange values; ///< the captured values, in the order of the last arguments

  unsigned numFixedArguments() const { return region->getNumArguments() - values.size(); }
  mlir::BlockArgument getArgument(unsigned capture) const {
    return region->getArgument(numFixedArguments() + capture);
  }

  /// The argument bound to `value`, which is captured where it is not yet. Requires a block.
  mlir::BlockArgument capture(mlir::Value value);
  /// Releases a capture whose argument has no use.
  void release(unsigned capture);
};

} // namespace pagefold::attn

#endif // PAGEFOLD_DIALECT_ATTN_IR_CAPTURINGREGION_H
