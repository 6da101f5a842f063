//===- RemarkOf.h - what a remark of a tile pass says of its place -*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_REMARKOF_H
#define PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_REMARKOF_H

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace pagefold::tile {

/// A remark of the pass named `pass`, on an op of a function.
inline mlir::remark::RemarkOpts remarkOf(mlir::Operation *op, llvm::StringRef name,
                                         llvm::StringRef pass) {
  auto function = op->getParentOfType<mlir::FunctionOpInterface>();
  return mlir::remark::RemarkOpts::name(name).category(pass).function(function ? function.getName()
                                                                               : llvm::StringRef());
}

} // namespace pagefold::tile

#endif // PAGEFOLD_LIB_DIALECT_TILE_TRANSFORMS_REMARKOF_H
