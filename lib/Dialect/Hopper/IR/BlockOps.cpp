//===- BlockOps.cpp - verifiers of products of a warp and of packets -------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

LogicalResult LoadBlockOp::verify() {
  RingType ring = getRing().getType();
  int64_t row = getRow(), column = getColumn(), rows = kHopper.stepDepth;
  if (row < 0 || row % rows || row + rows > ring.getRows())
    return emitOpError("C1: expects ") << rows << " rows from a multiple of " << rows
                                       << " on, got row " << row << " of " << ring;
  int64_t unit = kHopper.stepDepth * 16 / ring.getElementType().getIntOrFloatBitWidth();
  if (column < 0 || column >= ring.depth() || column % unit)
    return emitOpError("C2: expects a column that is a multiple of ")
           << unit << " below " << ring.depth() << ", got " << column;
  return success();
}

LogicalResult WidenBlockOp::verify() {
  if (getPart() > 1)
    return emitOpError("C1: expects part 0 or 1, got ") << getPart();
  return success();
}

Type pagefold::hopper::pairTypeOf(PointerType pointer) {
  Type element = pointer.getElementType();
  if (element.isF32())
    return VectorType::get({2}, element);
  return IntegerType::get(pointer.getContext(), 32);
}

static bool isHalf(Type element) { return element.isBF16() || element.isF16(); }

LogicalResult ContractBlockOp::verify() {
  if (isHalf(getElement()))
    return success();
  return emitOpError("C1: expects elements of bf16 or f16, got ") << getElement();
}

LogicalResult RoundPairOp::verify() {
  if (isHalf(getElement()) || isa<Float8E4M3FNType>(getElement()))
    return success();
  return emitOpError("C1: expects elements of bf16, f16 or f8E4M3FN, got ") << getElement();
}

LogicalResult LoadPairOp::verify() {
  Type element = getPointer().getType().getElementType();
  if (!isHalf(element) && !element.isF32())
    return emitOpError("C1: expects a pointer to bf16, f16 or f32, got ") << element;
  if (getOtherwise() && !element.isF32())
    return emitOpError("C2: expects zeros in place of ")
           << element << ", got " << getOtherwiseAttr();
  return success();
}

LogicalResult StorePairOp::verify() {
  Type element = getPointer().getType().getElementType();
  if (isHalf(element) || isa<Float8E4M3FNType>(element))
    return success();
  return emitOpError("C1: expects a pointer to bf16, f16 or f8E4M3FN, got ") << element;
}

static constexpr int64_t kVectorWords = 4; ///< of a packet

/// C1 of ops on packets.
static LogicalResult verifyStates(Operation *op, PointerType states) {
  if (states.getElementType().isF32())
    return success();
  return op->emitOpError("C1: expects a pointer to f32, got ") << states;
}

LogicalResult HandOverOp::verify() {
  size_t vectors = getValues().size();
  if (vectors < 1 || vectors > 32)
    return emitOpError("C2: expects from 1 to 32 vectors, got ") << vectors;
  return verifyStates(*this, getStates().getType());
}

LogicalResult CollectOp::verify() {
  int64_t vectors = getValues().size(), packets = getPackets(), stride = getStride();
  if (vectors < 1 || vectors > 32 || packets < 1 || vectors % packets)
    return emitOpError("C2: expects from 1 to 32 vectors, as many for each packet, got ")
           << vectors << " for " << packets << " packets";
  int64_t words = vectors / packets * kVectorWords;
  if (stride < words || stride % kVectorWords)
    return emitOpError("C3: expects a stride that is a multiple of ")
           << kVectorWords << ", at least " << words << ", got " << stride;
  return verifyStates(*this, getStates().getType());
}
