//===- Frame.h - the words that a kernel is launched with -------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_TARGET_HOST_FRAME_H
#define PAGEFOLD_TARGET_HOST_FRAME_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace pagefold {

/// Loads one 8-byte word of the frame for each of `types` (docs/artifact.md).
inline llvm::SmallVector<mlir::Value> loadFrame(mlir::OpBuilder &builder, mlir::Location loc,
                                                mlir::Value frame, mlir::TypeRange types) {
  using namespace mlir;
  llvm::SmallVector<Value> words;
  for (auto [i, type] : llvm::enumerate(types)) {
    Value address = LLVM::GEPOp::create(builder, loc, frame.getType(), builder.getI64Type(), frame,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    words.push_back(LLVM::LoadOp::create(builder, loc, type, address));
  }
  return words;
}

} // namespace pagefold

#endif // PAGEFOLD_TARGET_HOST_FRAME_H
