//===- HopperOps.cpp - verifiers of rings, tiles and barriers -------------===//
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

//===----------------------------------------------------------------------===//
// Syntax: an index is an i32 where no type says otherwise
//===----------------------------------------------------------------------===//

static ParseResult parseIndexType(OpAsmParser &parser, Type &type) {
  if (succeeded(parser.parseOptionalComma()))
    return parser.parseType(type);
  type = parser.getBuilder().getI32Type();
  return success();
}

static void printIndexType(OpAsmPrinter &printer, Operation *, Type type) {
  if (!type.isInteger(32))
    printer << ", " << type;
}

/// The other value of a conditional load is an element.
static ParseResult parseLoadTypes(OpAsmParser &parser, Type pointer, Type &index,
                                  std::optional<OpAsmParser::UnresolvedOperand> otherwise,
                                  Type &otherwiseType) {
  if (otherwise)
    otherwiseType = cast<PointerType>(pointer).getElementType();
  return parseIndexType(parser, index);
}

static void printLoadTypes(OpAsmPrinter &printer, Operation *op, Type, Type index, Value, Type) {
  printIndexType(printer, op, index);
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
  bool ofWarps = getType().isOfWarps();
  if (ofWarps ? getReaders() != 0 : getReaders() < 1 || getReaders() > 32)
    return emitOpError("C1: expects ")
           << (ofWarps ? "no reader of a ring of warps" : "from 1 to 32 reading warps") << ", got "
           << getReaders();
  if (getWriters() < 1 || getWriters() > 32)
    return emitOpError("C2: expects from 1 to 32 writing warps, got ") << getWriters();
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

/// The constraint `code` that a panel is one of the tile's.
template <typename TileType>
static LogicalResult verifyPanel(Operation *op, TileType tile, std::optional<int64_t> panel,
                                 StringRef code) {
  if (!panel)
    return success();
  if (*panel < 0 || *panel >= tile.panels() || tile.getOrder() != Order::Panels)
    return op->emitOpError() << code << ": expects a panel from 0 to " << tile.panels() - 1
                             << " of a tile of order panels, got " << *panel << " of " << tile;
  return success();
}

LogicalResult FillOp::verify() {
  RingType ring = getRing().getType();
  TensorMapType map = getMap().getType();
  if (failed(verifyCopy(*this, map, getCoordinates().size(), ring.getElementType())) ||
      failed(verifyPanel(*this, ring, getPanel(), "C5")))
    return failure();
  StringRef target = getPanel() ? "panel" : "tile";
  int64_t bytes = getPanel() ? ring.panelBytes() : ring.tileBytes();
  int64_t octet = bytes / ring.getRows() * kHopper.octetRows;
  if (!getRow() && map.boxBytes() != bytes)
    return emitOpError("C3: expects a box of the ")
           << target << "'s " << bytes << " bytes, got " << map.boxBytes();
  if (getRow() && !getPanel() && ring.getOrder() != Order::Octets && ring.panels() > 1)
    return emitOpError("C4: expects a ring of order octets, or of one panel, where a row and no "
                       "panel is given, got ")
           << ring;
  if (map.boxBytes() > bytes || map.boxBytes() % octet)
    return emitOpError("C3: expects a box of a multiple of ")
           << octet << " bytes, at most " << bytes << ", got " << map.boxBytes();
  return success();
}

LogicalResult StoreTileOp::verify() {
  SharedType tile = getTiles().getType();
  TensorMapType map = getMap().getType();
  if (failed(verifyCopy(*this, map, getCoordinates().size(), tile.getElementType())) ||
      failed(verifyPanel(*this, tile, getPanel(), "C4")))
    return failure();
  int64_t bytes = getPanel() ? tile.panelBytes() : tile.tileBytes();
  if (tile.getOrder() != Order::Panels || map.boxBytes() != bytes)
    return emitOpError("C3: expects a tile of order panels and a box of ")
           << bytes << " bytes, got " << tile << " and " << map.boxBytes() << " bytes";
  return success();
}

LogicalResult GatherOp::verify() {
  Type element = getRing().getType().getElementType();
  if (getPointer().getType().getElementType() != element)
    return emitOpError("C1: expects a pointer to ")
           << element << ", got " << getPointer().getType();
  return success();
}

LogicalResult ReleaseOp::verify() {
  if (!getAfter())
    return success();
  FragmentType type = getAfter().getType();
  if (!type.getElementType().isF32() || type.getColumns() < 38)
    return emitOpError("C1: expects an f32 fragment of at least 38 columns, got ") << type;
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

/// The constraint `code` that a constant number of a barrier is one of a CTA's.
static LogicalResult verifyBarrierNumber(Operation *op, Value barrier, StringRef code) {
  APInt number;
  if (matchPattern(barrier, m_ConstantInt(&number)) &&
      (number.slt(1) || number.sge(kHopper.namedBarriers)))
    return op->emitOpError() << code << ": expects a barrier from 1 to "
                             << kHopper.namedBarriers - 1 << ", got " << number.getSExtValue();
  return success();
}

static LogicalResult verifyBarrier(Operation *op, Value barrier, int64_t threads) {
  int64_t maximum = kHopper.maxWarpgroups * kWarpgroup;
  if (threads < kWarp || threads > maximum || threads % kWarp)
    return op->emitOpError("C1: expects threads to be a multiple of ")
           << kWarp << " from " << kWarp << " to " << maximum << ", got " << threads;
  return verifyBarrierNumber(op, barrier, "C2");
}

LogicalResult BarrierSyncOp::verify() { return verifyBarrier(*this, getBarrier(), getThreads()); }
LogicalResult BarrierArriveOp::verify() { return verifyBarrier(*this, getBarrier(), getThreads()); }
LogicalResult ClearRowsOp::verify() { return verifyBarrierNumber(*this, getBarrier(), "C1"); }
