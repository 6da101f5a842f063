//===- HopperDialect.cpp - the hopper dialect and its types ---------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "pagefold/Dialect/Hopper/IR/Hopper.h"
#include "pagefold/Target/Hopper/Chip.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pagefold::hopper;

#include "pagefold/Dialect/Hopper/IR/HopperDialect.cpp.inc"
#include "pagefold/Dialect/Hopper/IR/HopperEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Hopper/IR/HopperTypes.cpp.inc"

void HopperDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "pagefold/Dialect/Hopper/IR/HopperTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "pagefold/Dialect/Hopper/IR/HopperOps.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

static constexpr int64_t kStepBytes = 32; ///< of a row, in a product's step
static int64_t elementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }
static int64_t panelColumns(Type type) { return kHopper.swizzleBytes / elementBytes(type); }
static constexpr int64_t kMaxTiles = 16, kMaxWarps = 32;

static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// What a product can have as its columns.
static bool isColumns(int64_t columns) {
  return columns >= kHopper.columnUnit && columns <= kHopper.maxColumns &&
         columns % kHopper.columnUnit == 0;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static LogicalResult verifyTile(EmitError emitError, int64_t rows, int64_t columns,
                                Type elementType) {
  if (rows < kHopper.octetRows || rows > kHopper.maxBoxExtent || rows % kHopper.octetRows)
    return emitError() << "C2: expects rows to be a multiple of " << kHopper.octetRows << " from "
                       << kHopper.octetRows << " to " << kHopper.maxBoxExtent << ", got " << rows;
  if (!isColumns(columns))
    return emitError() << "C3: expects columns to be a multiple of " << kHopper.columnUnit
                       << " from " << kHopper.columnUnit << " to " << kHopper.maxColumns << ", got "
                       << columns;
  return success();
}

static LogicalResult verifyHalfTile(EmitError emitError, Type elementType) {
  if (!isHalf(elementType))
    return emitError() << "C4: expects bf16 or f16 elements, got " << elementType;
  return success();
}

LogicalResult SharedType::verify(EmitError emitError, int64_t count, int64_t rows, int64_t columns,
                                 Type elementType, Order order) {
  if (count < 1 || count > kMaxTiles)
    return emitError() << "C1: expects from 1 to " << kMaxTiles << " tiles, got " << count;
  if (failed(verifyHalfTile(emitError, elementType)))
    return failure();
  return verifyTile(emitError, rows, columns, elementType);
}

LogicalResult RingType::verify(EmitError emitError, int64_t stages, int64_t rows, int64_t columns,
                               Type elementType, Order order, int64_t note, int64_t warps) {
  if (stages < 1 || stages > kMaxTiles)
    return emitError() << "C1: expects the number of stages to be from 1 to " << kMaxTiles
                       << ", got " << stages;
  if (note < 0 || note > 32 || note % 4)
    return emitError() << "C5: expects a note of a multiple of 4 words up to 32, got " << note;
  if (warps < 0 || warps > kMaxWarps || (warps && note))
    return emitError() << "C6: expects a ring of 1 to " << kMaxWarps
                       << " warps to have no note, got " << warps << " warps and " << note
                       << " words";
  bool isByte = isa<Float8E4M3FNType>(elementType);
  if (isByte && !warps)
    return emitError() << "C7: expects f8E4M3FN in a ring of warps only";
  if (!isByte && failed(verifyHalfTile(emitError, elementType)))
    return failure();
  return verifyTile(emitError, rows, columns, elementType);
}

LogicalResult WordsType::verify(EmitError emitError, int64_t count) {
  if (count < 4 || count % 4)
    return emitError() << "C1: expects a multiple of 4 words, at least 4, got " << count;
  return success();
}

template <typename TileType> static int64_t panelsOf(TileType type) {
  return llvm::divideCeil(type.getColumns(), panelColumns(type.getElementType()));
}
template <typename TileType> static int64_t panelStrideOf(TileType type) {
  int64_t rows = type.getOrder() == Order::Panels ? type.getRows() : kHopper.octetRows;
  return rows * kHopper.swizzleBytes;
}
template <typename TileType> static int64_t octetStrideOf(TileType type) {
  int64_t panels = type.getOrder() == Order::Panels ? 1 : panelsOf(type);
  return panels * kHopper.octetRows * kHopper.swizzleBytes;
}

int64_t SharedType::panels() const { return panelsOf(*this); }
int64_t SharedType::panelBytes() const { return getRows() * kHopper.swizzleBytes; }
int64_t SharedType::depth() const { return llvm::alignTo(getColumns(), kHopper.stepDepth); }
int64_t SharedType::panelStride() const { return panelStrideOf(*this); }
int64_t SharedType::octetStride() const { return octetStrideOf(*this); }
int64_t RingType::panels() const { return panelsOf(*this); }
int64_t RingType::panelBytes() const { return getRows() * kHopper.swizzleBytes; }
int64_t RingType::depth() const {
  return llvm::alignTo(getColumns(), kStepBytes / elementBytes(getElementType()));
}
int64_t RingType::panelStride() const { return panelStrideOf(*this); }
int64_t RingType::octetStride() const { return octetStrideOf(*this); }

//===----------------------------------------------------------------------===//
// Fragments and tensor maps
//===----------------------------------------------------------------------===//

LogicalResult FragmentType::verify(EmitError emitError, int64_t rows, int64_t columns,
                                   Type elementType) {
  if (rows != kHopper.fragmentRows)
    return emitError() << "C1: expects " << kHopper.fragmentRows << " rows, got " << rows;
  if (!elementType.isF32() && !isHalf(elementType))
    return emitError() << "C3: expects f32, bf16 or f16 elements, got " << elementType;
  if (!isColumns(columns))
    return emitError() << "C2: expects columns to be a multiple of " << kHopper.columnUnit
                       << " from " << kHopper.columnUnit << " to " << kHopper.maxColumns << ", got "
                       << columns;
  return success();
}

LogicalResult TensorMapType::verify(EmitError emitError, ArrayRef<int64_t> box, Type elementType) {
  if (box.empty() || static_cast<int64_t>(box.size()) > kHopper.maxBoxRank)
    return emitError() << "C1: expects a box of 1 to " << kHopper.maxBoxRank << " extents, got "
                       << box.size();
  for (int64_t extent : box)
    if (extent < 1 || extent > kHopper.maxBoxExtent)
      return emitError() << "C2: expects extents from 1 to " << kHopper.maxBoxExtent << ", got "
                         << extent;
  if (!isHalf(elementType) && !isa<Float8E4M3FNType>(elementType))
    return emitError() << "C4: expects bf16, f16 or f8E4M3FN elements, got " << elementType;
  if (int64_t columns = panelColumns(elementType); box.front() != columns)
    return emitError() << "C3: expects the innermost extent to be a panel of " << columns
                       << " elements (" << kHopper.swizzleBytes << " bytes), got " << box.front();
  return success();
}

int64_t TensorMapType::boxBytes() const {
  int64_t bytes = elementBytes(getElementType());
  for (int64_t extent : getBox())
    bytes *= extent;
  return bytes;
}
