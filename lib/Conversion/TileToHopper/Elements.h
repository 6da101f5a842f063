//===- Elements.h - scalar regions on fragments -----------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ELEMENTS_H
#define PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ELEMENTS_H

#include "SpaceKernel.h"

namespace pagefold::hopper {

/// Builds a hopper.map: `element(value, what the row has of each of `rows`, column)`.
mlir::Value
mapElements(HopperBuilder &b, mlir::Value fragment, mlir::ValueRange rows,
            llvm::function_ref<mlir::Value(mlir::Value, mlir::ValueRange, mlir::Value)> element);

/// Emits a score or epilogue region of level 2 on scalars: `arguments` stand for its arguments.
mlir::Value emitRegion(SpaceKernel &kernel, mlir::Region &region, mlir::ValueRange arguments);

/// One element of a buffer of level 2, indices clamped into it: f32 or i32, whatever it holds.
/// `valid`, where it is given: whether the buffer is known to have elements; else nothing is read.
mlir::Value loadElement(SpaceKernel &kernel, mlir::Value buffer, mlir::ValueRange indices,
                        mlir::Value valid = {});

/// The same of a buffer of one dimension, at an i32 or at what a lane holds for its two rows.
mlir::Value loadOfRows(SpaceKernel &kernel, mlir::Value buffer, mlir::Value index,
                       mlir::Value valid = {});

} // namespace pagefold::hopper

#endif // PAGEFOLD_LIB_CONVERSION_TILETOHOPPER_ELEMENTS_H
