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
  if (ring.getRows() != kHopper.stepDepth || ring.getOrder() != Order::Panels)
    return emitOpError("C1: expects a tile of ")
           << kHopper.stepDepth << " rows in order panels, got " << ring;
  int64_t column = getColumn();
  if (column < 0 || column >= ring.depth() || column % kHopper.stepDepth)
    return emitOpError("C2: expects a column that is a multiple of ")
           << kHopper.stepDepth << " below " << ring.depth() << ", got " << column;
  return success();
}

/// C1 of ops on 16-bit elements.
static LogicalResult verifyHalf(Operation *op, StringRef what, Type element) {
  if (element.isBF16() || element.isF16())
    return success();
  return op->emitOpError("C1: expects ") << what << " bf16 or f16, got " << element;
}

LogicalResult ContractBlockOp::verify() { return verifyHalf(*this, "elements of", getElement()); }
LogicalResult RoundPairOp::verify() { return verifyHalf(*this, "elements of", getElement()); }
LogicalResult LoadPairOp::verify() {
  return verifyHalf(*this, "a pointer to", getPointer().getType().getElementType());
}
LogicalResult StorePairOp::verify() {
  return verifyHalf(*this, "a pointer to", getPointer().getType().getElementType());
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
  if (vectors < 1 || vectors > 4)
    return emitOpError("C2: expects from 1 to 4 vectors, got ") << vectors;
  return verifyStates(*this, getStates().getType());
}

LogicalResult CollectOp::verify() {
  int64_t vectors = getValues().size(), packets = getPackets();
  if (vectors < 1 || vectors > 16 || packets < 1 || vectors % packets)
    return emitOpError("C2: expects from 1 to 16 vectors, as many for each packet, got ")
           << vectors << " for " << packets << " packets";
  int64_t words = vectors / packets * kVectorWords;
  if (getStride() < words || getStride() % kVectorWords)
    return emitOpError("C3: expects a stride that is a multiple of ")
           << kVectorWords << ", at least " << words << ", got " << getStride();
  return verifyStates(*this, getStates().getType());
}
