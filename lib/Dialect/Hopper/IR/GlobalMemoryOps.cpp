//===- GlobalMemoryOps.cpp - verifiers of loads and stores -----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Hopper/IR/Hopper.h"

using namespace mlir;
using namespace pagefold::hopper;

/// C1: elements that one load or store moves.
static LogicalResult verifyElement(Operation *op, PointerType pointer) {
  Type element = pointer.getElementType();
  bool isInteger = element.isInteger(8) || element.isInteger(32) || element.isInteger(64);
  if (!isInteger && !element.isF16() && !element.isBF16() && !element.isF32())
    return op->emitOpError("C1: expects a pointer to i8, i32, i64, f16, bf16 or f32, got ")
           << pointer;
  return success();
}

LogicalResult LoadOp::verify() {
  if (!getCondition() != !getOtherwise() ||
      (getOtherwise() && getOtherwise().getType() != getType()))
    return emitOpError("C2: expects a condition to come with another value of ") << getType();
  return verifyElement(*this, getPointer().getType());
}

LogicalResult StoreOp::verify() { return verifyElement(*this, getPointer().getType()); }

LogicalResult ReportOp::verify() {
  if (!getWord().getType().getElementType().isInteger(64))
    return emitOpError("C1: expects a pointer to i64, got ") << getWord().getType();
  if (getReason() < 1)
    return emitOpError("C2: expects a positive reason, got ") << getReason();
  return success();
}

LogicalResult StoreRowsOp::verify() {
  if (!getPointer().getType().getElementType().isF32())
    return emitOpError("C1: expects a pointer to f32, got ") << getPointer().getType();
  return success();
}

LogicalResult StoreMatrixOp::verify() {
  Type element = getFragment().getType().getElementType();
  if (getPointer().getType().getElementType() != element)
    return emitOpError("C1: expects a pointer to ")
           << element << ", got " << getPointer().getType();
  return success();
}

static LogicalResult verifyLanes(Operation *op, Type value, PointerType pointer) {
  auto fragment = dyn_cast<FragmentType>(value);
  bool wide = !fragment || fragment.getElementType().isF32();
  if (wide && pointer.getElementType().isF32())
    return success();
  return op->emitOpError("C1: expects a pointer to f32 and values of f32, got ")
         << pointer << " and " << value;
}

LogicalResult StoreLanesOp::verify() {
  return verifyLanes(*this, getValue().getType(), getPointer().getType());
}

LogicalResult LoadLanesOp::verify() {
  return verifyLanes(*this, getValue().getType(), getPointer().getType());
}
