//===- MemoryVerifier.cpp - constraints of ops on buffers and rows --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check a constraint; the numbers are those of TileOps.td.
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "mlir/IR/Builders.h"
#include "pagefold/Dialect/Tile/IR/RequestBounds.h"

using namespace mlir;
using namespace pagefold::tile;

static MemRefType bufferType(Value buffer) { return cast<MemRefType>(buffer.getType()); }
static Type i32(Operation *op) { return IntegerType::get(op->getContext(), 32); }
static Type f32(Operation *op) { return Float32Type::get(op->getContext()); }

//===----------------------------------------------------------------------===//
// Keys, values, batch, mask
//===----------------------------------------------------------------------===//

/// C4
static LogicalResult verifyScales(PagedOp op) {
  KVType kv = op.getKv().getType();
  if (!op.getKScale() != !op.getVScale() || kv.isScaled() != bool(op.getKScale()))
    return op.emitOpError("C4: expects ")
           << (kv.isScaled() ? "scales of keys and of values" : "no scales") << " for elements of "
           << kv.getElementType();
  if (!kv.isScaled())
    return success();
  if (failed(verifyBuffer(op, "C4", "k_scale", op.getKScale(), {{kv.getHeads()}, f32(op)})))
    return failure();
  return verifyBuffer(op, "C4", "v_scale", op.getVScale(), {{kv.getHeads()}, f32(op)});
}

LogicalResult PagedOp::verify() {
  KVType kv = getKv().getType();
  if (!kv.isPaged())
    return emitOpError("C1: expects a KV type with a page size, got ") << kv;
  Type element = kv.getElementType();
  int64_t page = kv.getPageSize(), heads = kv.getHeads();
  if (failed(verifyBuffer(*this, "C1", "K pages", getKPages(),
                          {{kAnyExtent, page, heads, kv.getKDim()}, element})) ||
      failed(verifyBuffer(*this, "C1", "V pages", getVPages(),
                          {{kAnyExtent, page, heads, kv.getVDim()}, element})))
    return failure();
  SmallVector<int64_t> table(getStarts() ? 1 : 2, kAnyExtent);
  if (failed(verifyBuffer(*this, "C2", "the page table", getTable(), {table, i32(*this)})))
    return failure();
  if (getStarts() &&
      failed(verifyBuffer(*this, "C3", "starts", getStarts(), {{kAnyExtent}, i32(*this)})))
    return failure();
  if (failed(verifyBuffer(*this, "C3", "lens", getLens(), {{kAnyExtent}, i32(*this)})))
    return failure();
  return verifyScales(*this);
}

LogicalResult DenseOp::verify() {
  KVType kv = getKv().getType();
  if (kv.isPaged())
    return emitOpError("C1: expects a KV type without a page size, got ") << kv;
  Type element = kv.getElementType();
  if (failed(verifyBuffer(*this, "C1", "keys", getKey(),
                          {{kAnyExtent, kv.getHeads(), kv.getKDim()}, element})) ||
      failed(verifyBuffer(*this, "C1", "values", getValue(),
                          {{kAnyExtent, kv.getHeads(), kv.getVDim()}, element})))
    return failure();
  return verifyBuffer(*this, "C2", "rows", getRows(), {{kAnyExtent}, i32(*this)});
}

LogicalResult BatchOp::verify() {
  if (failed(verifyBuffer(*this, "C1", "rows", getRows(), {{kAnyExtent}, i32(*this)})) ||
      failed(
          verifyBuffer(*this, "C2", "tokens", getTokens(), {{kAnyExtent, kAnyExtent, kAnyExtent}})))
    return failure();
  for (Value table : getTables())
    if (failed(
            verifyBuffer(*this, "C2", "a table of positions", table, {{kAnyExtent, kAnyExtent}})))
      return failure();
  if (Attribute own = (*this)->getAttr(kBoundsAttr); own && !isa<pagefold::attn::BoundsAttr>(own))
    return emitOpError("C3: expects ") << kBoundsAttr << " to be an #attn.bounds, got " << own;
  return success();
}

LogicalResult MaskOp::verify() {
  size_t symbols = getSets().getSymbols().size(), rows = getSets().getRowValues().size();
  if (getSymbols().size() != symbols)
    return emitOpError("C1: expects a value for each of the mask's ")
           << symbols << " symbols, got " << getSymbols().size();
  if (getRowValues().size() != rows)
    return emitOpError("C2: expects a table for each of the mask's ")
           << rows << " row values, got " << getRowValues().size();
  for (Value table : getRowValues())
    if (failed(verifyBuffer(*this, "C2", "row values", table, {{kAnyExtent}, i32(*this)})))
      return failure();
  if (!getBitmap() != !getBitmapStarts())
    return emitOpError("C3: expects a bitmap and its starts, got one of them");
  if (!getBitmap())
    return success();
  Builder builder(getContext());
  if (failed(verifyBuffer(*this, "C3", "the bitmap", getBitmap(),
                          {{kAnyExtent}, builder.getI8Type()})))
    return failure();
  return verifyBuffer(*this, "C3", "the bitmap's starts", getBitmapStarts(),
                      {{kAnyExtent}, builder.getI64Type()});
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The width of a tile of rows [q, dim] f32, or an error.
static FailureOr<int64_t> widthOfRows(Operation *op, TileType type) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() != 2 || shape[0] != TileType::Q || shape[1] < 1 ||
      !type.getElementType().isF32())
    return op->emitOpError("C1: expects a tile [q, dim] of f32, got ") << type, failure();
  return shape[1];
}

LogicalResult RopeOp::verify() {
  FailureOr<int64_t> width = widthOfRows(*this, getInput().getType());
  if (failed(width) ||
      failed(verifyBuffer(*this, "C1", "cos", getCos(), {{kAnyExtent, kAnyExtent}, f32(*this)})))
    return failure();
  int64_t pairs = bufferType(getCos()).getDimSize(1);
  if (ShapedType::isDynamic(pairs) || 2 * pairs > *width)
    return emitOpError("C1: expects cos with a static number of pairs, at most ")
           << *width / 2 << ", got " << getCos().getType();
  if (failed(verifyBuffer(*this, "C1", "sin", getSin(), {{kAnyExtent, pairs}, f32(*this)})))
    return failure();
  if (!getPositions() || bufferType(getPositions()).getElementType().isInteger(64))
    return getPositions() ? verifyBuffer(*this, "C2", "positions", getPositions(), {{kAnyExtent}})
                          : success();
  return verifyBuffer(*this, "C2", "positions", getPositions(), {{kAnyExtent}, i32(*this)});
}

LogicalResult RmsNormOp::verify() {
  FailureOr<int64_t> width = widthOfRows(*this, getInput().getType());
  if (failed(width))
    return failure();
  return verifyBuffer(*this, "C1", "the weight", getWeight(), {{*width}});
}

LogicalResult RowMapOp::verify() {
  return failure(failed(widthOfRows(*this, getInput().getType())));
}

LogicalResult RowMapOp::verifyRegions() {
  return verifyScalarRegion(*this, "C2", getBody(), kRowMapArgs);
}

LogicalResult RowsOp::verify() {
  if (failed(verifyBuffer(*this, "C1", "the input", getInput(),
                          {{kAnyExtent, kAnyExtent, kAnyExtent}})))
    return failure();
  int64_t heads = bufferType(getInput()).getDimSize(1), dim = bufferType(getInput()).getDimSize(2);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(dim))
    return emitOpError("C1: expects static heads and head dim, got ") << getInput().getType();
  return verifyBuffer(*this, "C1", "the output", getOutput(), {{kAnyExtent, heads, dim}});
}

LogicalResult RowsOp::verifyRegions() {
  if (failed(verifyRowRegion(*this, "C2", getBody(), bufferType(getInput()).getDimSize(2))))
    return failure();
  for (auto rope : getBody().getOps<RopeOp>())
    if (!getBatch() && !rope.getPositions())
      return emitOpError("C3: expects a batch, for the positions of ") << rope->getName();
  return success();
}

LogicalResult AppendOp::verify() {
  KVType kv = getKv().getType();
  if (!kv.isPaged())
    return emitOpError("C1: expects a paged KV, got ") << kv;
  if (failed(verifyBuffer(*this, "C2", "keys", getKey(),
                          {{kAnyExtent, kv.getHeads(), kv.getKDim()}})) ||
      failed(verifyBuffer(*this, "C2", "values", getValue(),
                          {{kAnyExtent, kv.getHeads(), kv.getVDim()}})))
    return failure();
  if (auto space = dyn_cast<SpaceOp>((*this)->getParentOp());
      space && (space.getKv() != getKv() || space.getMinQLen() || space.getMaxQLen()))
    return emitOpError("C5: expects the space around it to have its KV, and items of all requests");
  return verifyBatchOf(*this, "C4", getBatch(), getKv());
}

LogicalResult AppendOp::verifyRegions() {
  KVType kv = getKv().getType();
  if (failed(verifyRowRegion(*this, "C3", getKeyBody(), kv.getKDim())))
    return failure();
  return verifyRowRegion(*this, "C3", getValueBody(), kv.getVDim());
}

LogicalResult TogetherOp::verifyRegions() {
  auto works = llvm::map_to_vector(getBody().front(), [](Operation &op) { return &op; });
  auto stray = llvm::find_if(works, [](Operation *op) { return !isa<RowsOp, AppendOp>(op); });
  if (stray != works.end() || works.size() < 2)
    return emitOpError("C1: expects two or more of tile.rows and tile.append, got ")
           << (stray != works.end() ? (*stray)->getName().getStringRef().str()
                                    : std::to_string(works.size()) + " of them");
  for (auto [i, work] : llvm::enumerate(works))
    for (Operation *other : llvm::drop_begin(works, i + 1))
      if (conflict(other, work))
        return other->emitOpError("C2: expects to need nothing of the ")
               << work->getName() << " beside it, but one writes what the other reads or writes";
  return success();
}

//===----------------------------------------------------------------------===//
// Merge, workspace, look-up
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  MemRefType output = bufferType(getOutput());
  if (output.getRank() != 3 || output.isDynamicDim(1) || output.isDynamicDim(2))
    return emitOpError("C1: expects an output [?, heads, dim] with static heads and dim, got ")
           << output;
  BufferShape out{{kAnyExtent, output.getDimSize(1), output.getDimSize(2)}};
  BufferShape lse{{kAnyExtent, output.getDimSize(1)}, f32(*this)};
  for (Value buffer : {getOutA(), getOutB(), getOutput()})
    if (failed(verifyBuffer(*this, "C1", "each output", buffer, out)))
      return failure();
  for (Value buffer : {getLseA(), getLseB(), getLse()})
    if (failed(verifyBuffer(*this, "C1", "each log-sum-exp", buffer, lse)))
      return failure();
  return success();
}

LogicalResult WorkspaceOp::verify() {
  MemRefType type = bufferType(getBuffer());
  if (!type.getLayout().isIdentity() ||
      getDims().size() != static_cast<size_t>(type.getNumDynamicDims()))
    return emitOpError("C1: expects a contiguous buffer and a size for each of its ")
           << type.getNumDynamicDims() << " dynamic extents, got " << getDims().size()
           << " sizes for " << type;
  int64_t least = type.getElementTypeBitWidth() / 8;
  for (int64_t extent : type.getShape())
    least *= ShapedType::isDynamic(extent) ? 1 : extent;
  if (static_cast<int64_t>(getBytes()) < least)
    return emitOpError("C2: expects at least ") << least << " bytes, got " << getBytes();
  return success();
}

LogicalResult LookupOp::verify() {
  MemRefType table = bufferType(getTable());
  if (static_cast<int64_t>(getIndices().size()) != table.getRank())
    return emitOpError("C1: expects an index for each of the table's ")
           << table.getRank() << " dimensions, got " << getIndices().size();
  if (isa<FloatType>(table.getElementType()) != isa<FloatType>(getResult().getType()))
    return emitOpError("C2: expects f32 from a table of floats and i32 from one of integers, got ")
           << getResult().getType() << " from " << table;
  return success();
}
