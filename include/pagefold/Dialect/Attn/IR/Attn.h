//===- Attn.h - the attn dialect --------------------------------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Level 1: what attention computes. The contract of every type, attribute and op stands in the .td
// files beside this header, and generated in docs/reference/attn.md.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_DIALECT_ATTN_IR_ATTN_H
#define PAGEFOLD_DIALECT_ATTN_IR_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pagefold/Dialect/Attn/IR/CapturingRegion.h"
#include "pagefold/Support/MaskSets.h"

#include "pagefold/Dialect/Attn/IR/AttnDialect.h.inc"
#include "pagefold/Dialect/Attn/IR/AttnEnums.h.inc"
#include "pagefold/Dialect/Attn/IR/AttnInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnTypes.h.inc"

#define GET_OP_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnOps.h.inc"

#endif // PAGEFOLD_DIALECT_ATTN_IR_ATTN_H
