//===- TileDialect.cpp - types and attributes of the tile dialect ---------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "pagefold/Dialect/Tile/IR/PrefixOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pagefold::tile;

#include "pagefold/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "pagefold/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "pagefold/Dialect/Tile/IR/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "pagefold/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "pagefold/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pagefold/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "pagefold/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "pagefold/Dialect/Tile/IR/PrefixOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// TileType: !tile.tile<q x 128, f32>
//===----------------------------------------------------------------------===//

static StringRef spelling(int64_t extent) {
  switch (extent) {
  case TileType::Q:
    return "q";
  case TileType::KV:
    return "kv";
  case TileType::All:
    return "all";
  default:
    return "";
  }
}

static FailureOr<int64_t> parseExtent(AsmParser &parser) {
  int64_t value = 0;
  if (OptionalParseResult number = parser.parseOptionalInteger(value); number.has_value()) {
    if (failed(*number))
      return failure();
    if (value < 1)
      return parser.emitError(parser.getCurrentLocation(), "expects an extent of at least 1, got ")
                 << value,
             failure();
    return value;
  }
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  for (int64_t extent : {TileType::Q, TileType::KV, TileType::All})
    if (word == spelling(extent))
      return extent;
  return parser.emitError(loc, "expects an extent: a number, q, kv or all, got ") << word,
         failure();
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess())
    return {};
  do {
    FailureOr<int64_t> extent = parseExtent(parser);
    if (failed(extent))
      return {};
    shape.push_back(*extent);
  } while (succeeded(parser.parseOptionalKeyword("x")));
  if (parser.parseComma() || parser.parseType(element) || parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, element);
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleave(
      getShape(), printer.getStream(),
      [&](int64_t extent) {
        if (extent < 0)
          printer << spelling(extent);
        else
          printer << extent;
      },
      " x ");
  printer << ", " << getElementType() << '>';
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

namespace {

/// What the tile sizes of a kind are.
struct TileRange {
  int64_t qUnit, maxQTile, maxKVTile;
};

TileRange rangeOf(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::Outer:
    return {16, 512, 1024};
  case ScheduleKind::Dot:
    return {1, 16, 1024};
  case ScheduleKind::Pipelined:
    return {64, 256, 256};
  case ScheduleKind::Simt:
    return {1, 4, 64};
  case ScheduleKind::Streaming:
    return {8, 16, 32};
  }
  llvm_unreachable("every kind has a range");
}

} // namespace

bool pagefold::tile::splitsOnDevice(ScheduleKind kind) {
  return kind == ScheduleKind::Pipelined || kind == ScheduleKind::Streaming;
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, ScheduleKind kind,
                                   int64_t qTile, int64_t kvTile, int64_t splits) {
  constexpr int64_t kKVUnit = 16;
  TileRange range = rangeOf(kind);
  StringRef word = stringifyScheduleKind(kind);
  if (qTile < range.qUnit || qTile > range.maxQTile || qTile % range.qUnit) {
    InFlightDiagnostic error = emitError() << "C1: expects q_tile ";
    if (range.qUnit > 1)
      error << "to be a multiple of " << range.qUnit << " ";
    return error << "from " << range.qUnit << " to " << range.maxQTile << " for " << word
                 << ", got " << qTile;
  }
  if (kvTile < kKVUnit || kvTile > range.maxKVTile || kvTile % kKVUnit)
    return emitError() << "C2: expects kv_tile to be a multiple of 16 from 16 to "
                       << range.maxKVTile << " for " << word << ", got " << kvTile;
  if (splits < 1 || splits > 128)
    return emitError() << "C3: expects splits from 1 to 128, got " << splits;
  return success();
}

//===----------------------------------------------------------------------===//
// KVType
//===----------------------------------------------------------------------===//

bool KVType::isScaled() const { return pagefold::attn::PagedKVType::isScaled(getElementType()); }

LogicalResult KVType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                             int64_t kDim, int64_t vDim, Type elementType, int64_t pageSize) {
  if (heads < 1)
    return emitError() << "C1: expects at least 1 head, got " << heads;
  for (int64_t dim : {kDim, vDim})
    if (!pagefold::attn::PagedKVType::isHeadDim(dim))
      return emitError() << "C2: expects head dims that are multiples of 8 from 8 to 512, got "
                         << dim;
  bool isPaged = pageSize != 0;
  if (!pagefold::attn::PagedKVType::isElement(elementType) ||
      (!isPaged && pagefold::attn::PagedKVType::isScaled(elementType)))
    return emitError() << "C3: expects f32, f16" << (isPaged ? ", bf16 or f8E4M3FN" : " or bf16")
                       << " elements" << (isPaged ? "" : " without pages") << ", got "
                       << elementType;
  if (pageSize < 0 || pageSize > 1024)
    return emitError() << "C4: expects a page of 1 to 1024 tokens, got " << pageSize;
  return success();
}
