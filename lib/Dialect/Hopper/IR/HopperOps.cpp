//===- HopperOps.cpp - verifiers of the hopper dialect --------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Target/Hopper/Chip.h"

using namespace mlir;
using namespace pagefold::hopper;

//===----------------------------------------------------------------------===//
// Syntax: the accumulator of a product has the result's type
//===----------------------------------------------------------------------===//

static ParseResult parseAccumulator(OpAsmParser &parser,
                                    std::optional<OpAsmParser::UnresolvedOperand> accumulator,
                                    Type &accumulatorType, Type &resultType) {
  FragmentType type;
  if (parser.parseCustomTypeWithFallback(type))
    return failure();
  resultType = type;
  if (accumulator)
    accumulatorType = type;
  return success();
}

static void printAccumulator(OpAsmPrinter &printer, Operation *, Value, Type, Type resultType) {
  printer.printStrippedAttrOrType(cast<FragmentType>(resultType));
}

#define GET_OP_CLASSES
#include "pagefold/Dialect/Hopper/IR/HopperOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Rings and tiles
//===----------------------------------------------------------------------===//

LogicalResult TicketOp::verify() {
  if (!getCounter().getType().getElementType().isInteger(32))
    return emitOpError("C1: expects a pointer to i32, got ") << getCounter().getType();
  return success();
}

LogicalResult AllocRingOp::verify() {
  if (getReaders() < 1 || getReaders() > 32)
    return emitOpError("C1: expects from 1 to 32 reading warps, got ") << getReaders();
  return success();
}

/// C1 and C2 of the ops that copy between a tile and a tensor.
static LogicalResult verifyCopy(Operation *op, TensorMapType map, size_t coordinates,
                                Type element) {
  if (coordinates != map.getBox().size())
    return op->emitOpError("C1: expects ")
           << map.getBox().size() << " coordinates, got " << coordinates;
  if (map.getElementType() != element)
    return op->emitOpError("C2: expects a map of ") << element << ", got " << map;
  return success();
}

LogicalResult FillOp::verify() {
  RingType ring = getRing().getType();
  TensorMapType map = getMap().getType();
  if (failed(verifyCopy(*this, map, getCoordinates().size(), ring.getElementType())))
    return failure();
  int64_t octet = ring.tileBytes() / ring.getRows() * kHopper.octetRows;
  if (!getRow() && map.boxBytes() != ring.tileBytes())
    return emitOpError("C3: expects a box of the tile's ")
           << ring.tileBytes() << " bytes, got " << map.boxBytes();
  if (getRow() && ring.getOrder() != Order::Octets)
    return emitOpError("C3: expects a ring of order octets where a row is given, got ") << ring;
  if (map.boxBytes() > ring.tileBytes() || map.boxBytes() % octet)
    return emitOpError("C3: expects a box of a multiple of ")
           << octet << " bytes, at most " << ring.tileBytes() << ", got " << map.boxBytes();
  return success();
}

LogicalResult StoreTileOp::verify() {
  SharedType tile = getTiles().getType();
  TensorMapType map = getMap().getType();
  if (failed(verifyCopy(*this, map, getCoordinates().size(), tile.getElementType())))
    return failure();
  if (tile.getOrder() != Order::Panels || map.boxBytes() != tile.tileBytes())
    return emitOpError("C3: expects a tile of order panels and a box of its ")
           << tile.tileBytes() << " bytes, got " << tile << " and " << map.boxBytes() << " bytes";
  return success();
}

LogicalResult ReleaseOp::verify() {
  if (!getAfter())
    return success();
  FragmentType type = getAfter().getType();
  if (!type.getElementType().isF32() || type.getColumns() < 34)
    return emitOpError("C1: expects an f32 fragment of at least 34 columns, got ") << type;
  return success();
}

static LogicalResult verifyNote(Operation *op, RingType ring, size_t words) {
  if (static_cast<int64_t>(words) != ring.getNote() || !words)
    return op->emitOpError("C1: expects the ")
           << ring.getNote() << " words of the ring's note, got " << words;
  return success();
}

LogicalResult WriteNoteOp::verify() {
  return verifyNote(*this, getRing().getType(), getWords().size());
}
LogicalResult ReadNoteOp::verify() {
  return verifyNote(*this, getRing().getType(), getWords().size());
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

static LogicalResult verifyBarrier(Operation *op, Value barrier, int64_t threads) {
  int64_t maximum = kHopper.maxWarpgroups * kWarpgroup;
  if (threads < kWarp || threads > maximum || threads % kWarp)
    return op->emitOpError("C1: expects threads to be a multiple of ")
           << kWarp << " from " << kWarp << " to " << maximum << ", got " << threads;
  APInt number;
  if (matchPattern(barrier, m_ConstantInt(&number)) &&
      (number.slt(1) || number.sge(kHopper.namedBarriers)))
    return op->emitOpError("C2: expects a barrier from 1 to ")
           << kHopper.namedBarriers - 1 << ", got " << number.getSExtValue();
  return success();
}

LogicalResult BarrierSyncOp::verify() { return verifyBarrier(*this, getBarrier(), getThreads()); }
LogicalResult BarrierArriveOp::verify() { return verifyBarrier(*this, getBarrier(), getThreads()); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// C1 to C3 of a product whose left operand has `depth` columns of `element`.
template <typename ProductOp>
static LogicalResult verifyContract(ProductOp op, int64_t depth, Type element) {
  RingType rhs = op.getRhs().getType();
  FragmentType result = op.getType();
  bool transposed = op.getTransposed();
  int64_t rhsDepth = transposed ? rhs.getColumns() : rhs.getRows();
  int64_t rhsColumns = transposed ? rhs.getRows() : rhs.getColumns();
  if (depth != rhsDepth)
    return op.emitOpError("C1: expects a right operand of depth ") << depth << ", got " << rhsDepth;
  if (result.getColumns() != rhsColumns)
    return op.emitOpError("C2: expects a result of ")
           << rhsColumns << " columns, got " << result.getColumns();
  if (op.getAcc() && op.getAcc().getType() != result)
    return op.emitOpError("C2: expects an accumulator of ")
           << result << ", got " << op.getAcc().getType();
  if (!result.getElementType().isF32() || element != rhs.getElementType())
    return op.emitOpError("C3: expects equal elements of left and right and a result of f32, got ")
           << element << " x " << rhs.getElementType() << " -> " << result.getElementType();
  return success();
}

LogicalResult ContractOp::verify() {
  FragmentType lhs = getLhs().getType();
  return verifyContract(*this, lhs.getColumns(), lhs.getElementType());
}

/// A warpgroup reads rows of the tile in blocks of 64.
static bool hasWarpgroupRows(RingType type) { return type.getRows() % kHopper.fragmentRows == 0; }

LogicalResult ContractSharedOp::verify() {
  RingType lhs = getLhs().getType();
  if (!hasWarpgroupRows(lhs))
    return emitOpError("C4: expects a left tile of a multiple of ")
           << kHopper.fragmentRows << " rows, got " << lhs.getRows();
  return verifyContract(*this, lhs.getColumns(), lhs.getElementType());
}

/// The constraint `code` that a fragment is an accumulator.
static LogicalResult verifyAccumulator(Operation *op, FragmentType type, StringRef code) {
  if (!type.getElementType().isF32())
    return op->emitOpError() << code << ": expects a fragment of f32, got " << type;
  return success();
}

LogicalResult WaitContractsOp::verify() {
  if (getPending() < 0 || getPending() > 7)
    return emitOpError("C1: expects from 0 to 7 pending products, got ") << getPending();
  return verifyAccumulator(*this, getType(), "C2");
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

LogicalResult ZeroOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult RowReduceOp::verify() {
  return verifyAccumulator(*this, getFragment().getType(), "C1");
}
LogicalResult Exp2Op::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult MaskOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }
LogicalResult ScaleRowsOp::verify() { return verifyAccumulator(*this, getType(), "C1"); }

LogicalResult LoadFragmentOp::verify() {
  RingType ring = getRing().getType();
  FragmentType result = getType();
  if (result.getColumns() != ring.getColumns() ||
      result.getElementType() != ring.getElementType() || !hasWarpgroupRows(ring))
    return emitOpError("C1: expects a tile of a multiple of ")
           << kHopper.fragmentRows << " rows with the fragment's columns and elements, got " << ring
           << " -> " << result;
  if (ring.getOrder() != Order::Panels)
    return emitOpError("C2: expects a tile of order panels, got ") << ring;
  return success();
}

LogicalResult ConvertOp::verify() {
  FragmentType from = getFragment().getType(), to = getType();
  if (!from.getElementType().isF32() || to.getElementType().isF32() ||
      from.getColumns() != to.getColumns())
    return emitOpError("C1: expects f32 to bf16 or f16 with the same columns, got ")
           << from << " -> " << to;
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  FragmentType fragment = getFragment().getType();
  SharedType tile = getTiles().getType();
  if (fragment.getElementType().isF32())
    return emitOpError("C2: expects a fragment of bf16 or f16, got ") << fragment;
  if (tile.getRows() != kHopper.fragmentRows || tile.getColumns() != fragment.getColumns() ||
      tile.getElementType() != fragment.getElementType() || tile.getOrder() != Order::Panels)
    return emitOpError("C1: expects a tile of order panels with the fragment's rows, columns and "
                       "elements, got ")
           << fragment << " into " << tile;
  return success();
}

LogicalResult StoreRowsOp::verify() {
  if (!getPointer().getType().getElementType().isF32())
    return emitOpError("C1: expects a pointer to f32, got ") << getPointer().getType();
  return success();
}
