//===- Hopper.h - the hopper dialect ----------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Level 3 on the GPU: where attention is computed. See HopperBase.td for the model.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_HOPPER_IR_HOPPER_H
#define PAGEFOLD_DIALECT_HOPPER_IR_HOPPER_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pagefold/Dialect/Hopper/IR/HopperDialect.h.inc"
#include "pagefold/Dialect/Hopper/IR/HopperEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Hopper/IR/HopperTypes.h.inc"

namespace pagefold::hopper {
/// What two neighbouring elements are in registers: a vector of two f32, else one word.
mlir::Type pairTypeOf(PointerType pointer);
} // namespace pagefold::hopper

#define GET_OP_CLASSES
#include "pagefold/Dialect/Hopper/IR/HopperOps.h.inc"

#endif // PAGEFOLD_DIALECT_HOPPER_IR_HOPPER_H
