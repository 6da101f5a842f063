//===- AttnOps.cpp - the smaller ops of the attn dialect ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/Dialect/Attn/IR/Attn.h"

#include "Verifier.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pagefold::attn;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// attn.cache
//===----------------------------------------------------------------------===//

/// C1 to C3 for one of the two page tensors.
static LogicalResult verifyPages(CacheOp op, StringRef name, Value pages, int64_t headDim) {
  PagedKVType cache = op.getCache().getType();
  RankedTensorType type = tensorType(pages);
  if (type.getElementType() != cache.getElementType())
    return op.emitOpError("expects ")
           << name << " of the cache's element type " << cache.getElementType() << ", got "
           << type.getElementType();
  int64_t slots = cache.getPageSize(), heads = cache.getHeads();
  bool nhd = op.getLayout() == Layout::NHD;
  int64_t want[] = {nhd ? slots : heads, nhd ? heads : slots, headDim};
  for (auto [size, expected] : llvm::zip_equal(type.getShape().drop_front(), want))
    if (!sizesAgree(size, expected))
      return op.emitOpError("expects ")
             << name << " of [pages, " << want[0] << ", " << want[1] << ", " << want[2]
             << "] in layout " << stringifyLayout(op.getLayout()) << ", got " << type;
  return success();
}

/// C4 and C5
static LogicalResult verifyTable(CacheOp op) {
  RankedTensorType table = tensorType(op.getTable());
  int64_t wantRank = op.getStarts() ? 1 : 2;
  if (table.getRank() != wantRank)
    return op.emitOpError("expects a table of rank ")
           << wantRank << (op.getStarts() ? " with" : " without") << " starts, got " << table;
  int64_t batch = tensorType(op.getLens()).getDimSize(0);
  if (!op.getStarts()) {
    if (!sizesAgree(table.getDimSize(0), batch))
      return op.emitOpError("expects a table row for each of the ")
             << batch << " lens, got " << table.getDimSize(0);
    return success();
  }
  int64_t starts = tensorType(op.getStarts()).getDimSize(0);
  if (!ShapedType::isDynamic(batch) && !sizesAgree(starts, batch + 1))
    return op.emitOpError("expects one start more than the ") << batch << " lens, got " << starts;
  return success();
}

/// C6
static LogicalResult verifyScales(CacheOp op) {
  PagedKVType cache = op.getCache().getType();
  if (!op.getKScale() != !op.getVScale())
    return op.emitOpError("expects the scales of keys and of values, got one of them");
  if (cache.isScaled() != bool(op.getKScale()))
    return op.emitOpError() << (cache.isScaled() ? "expects scales for elements of "
                                                 : "expects no scales for elements of ")
                            << cache.getElementType();
  if (!cache.isScaled())
    return success();
  for (auto [name, scale] :
       {std::pair{"k_scale", op.getKScale()}, std::pair{"v_scale", op.getVScale()}})
    if (scale.getType().getDimSize(0) != cache.getHeads())
      return op.emitOpError("expects a ") << name << " for each of the " << cache.getHeads()
                                          << " KV heads, got " << scale.getType();
  return success();
}

LogicalResult CacheOp::verify() {
  PagedKVType cache = getCache().getType();
  if (failed(verifyPages(*this, "k_pages", getKPages(), cache.getKDim())) ||
      failed(verifyPages(*this, "v_pages", getVPages(), cache.getVDim())))
    return failure();
  int64_t kPages = tensorType(getKPages()).getDimSize(0),
          vPages = tensorType(getVPages()).getDimSize(0);
  if (!sizesAgree(kPages, vPages))
    return emitOpError("expects as many V pages as K pages, ") << kPages << ", got " << vPages;
  if (failed(verifyTable(*this)))
    return failure();
  return verifyScales(*this);
}

//===----------------------------------------------------------------------===//
// attn.merge
//===----------------------------------------------------------------------===//

LogicalResult MergeOp::verify() {
  ArrayRef<int64_t> out = tensorType(getOutA()).getShape(), lse = tensorType(getLseA()).getShape();
  if (!sizesAgree(out[0], lse[0]) || !sizesAgree(out[1], lse[1]))
    return emitOpError("expects lse with the tokens and heads of out, got ")
           << getLseA().getType() << " for " << getOutA().getType();
  return success();
}

/// A state over no keys is the identity: its lse is -inf everywhere.
LogicalResult MergeOp::fold(FoldAdaptor adaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto isEmptyState = [](Attribute lse) {
    auto splat = dyn_cast_or_null<SplatElementsAttr>(lse);
    return splat && splat.getSplatValue<APFloat>().isInfinity() &&
           splat.getSplatValue<APFloat>().isNegative();
  };
  if (isEmptyState(adaptor.getLseB()))
    results.assign({getOutA(), getLseA()});
  else if (isEmptyState(adaptor.getLseA()))
    results.assign({getOutB(), getLseB()});
  else
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// attn.rope
//===----------------------------------------------------------------------===//

/// The types of where positions come from: `rows, cache`, or `positions`.
static ParseResult parseRopeSourceTypes(OpAsmParser &parser, Type &rows, Type &cache,
                                        Type &positions) {
  Type first;
  if (parser.parseType(first))
    return failure();
  if (failed(parser.parseOptionalComma())) {
    positions = first;
    return success();
  }
  rows = first;
  return parser.parseType(cache);
}

static void printRopeSourceTypes(OpAsmPrinter &printer, Operation *, Type rows, Type cache,
                                 Type positions) {
  if (positions)
    printer << positions;
  else
    printer << rows << ", " << cache;
}

OpOperand &RopeOp::getRowOperand() { return getInputMutable(); }

LogicalResult RopeOp::verify() {
  int64_t tablePairs = tensorType(getCos()).getDimSize(1),
          headDim = tensorType(getInput()).getDimSize(2);
  if (!ShapedType::isDynamic(tablePairs) && !ShapedType::isDynamic(headDim) &&
      2 * tablePairs > headDim)
    return emitOpError("expects to rotate at most the head's ")
           << headDim << " elements, got " << 2 * tablePairs;
  bool fromCache = getRows() && getCache();
  if (getPositions() ? (getRows() || getCache()) : !fromCache)
    return emitOpError("expects either rows and cache, or positions, got ")
           << (getPositions() ? "both" : "neither of them complete");
  if (getPositions() &&
      !sizesAgree(tensorType(getPositions()).getDimSize(0), tensorType(getInput()).getDimSize(0)))
    return emitOpError("expects a position for each token, got ")
           << getPositions().getType() << " for " << getInput().getType();
  return success();
}

/// Tables without columns turn nothing.
OpFoldResult RopeOp::fold(FoldAdaptor) {
  return tensorType(getCos()).getDimSize(1) == 0 ? OpFoldResult(getInput()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// attn.rms_norm
//===----------------------------------------------------------------------===//

OpOperand &RmsNormOp::getRowOperand() { return getInputMutable(); }

LogicalResult RmsNormOp::verify() {
  int64_t headDim = tensorType(getInput()).getDimSize(2),
          weights = tensorType(getWeight()).getDimSize(0);
  if (!sizesAgree(headDim, weights))
    return emitOpError("expects a weight for each of the head's ")
           << headDim << " elements, got " << weights;
  if (!getEps().isFinite() || getEps().isNegative() || getEps().isZero())
    return emitOpError("expects a finite eps > 0, got ") << getEpsAttr();
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes: results have the dims of an operand, which lets tensor.dim look through the op.
//===----------------------------------------------------------------------===//

static SmallVector<OpFoldResult> getMixedSizesOf(OpBuilder &builder, Location loc, Value operand,
                                                 Type result) {
  SmallVector<OpFoldResult> sizes;
  for (auto [i, size] : llvm::enumerate(cast<RankedTensorType>(result).getShape()))
    sizes.push_back(ShapedType::isDynamic(size) ? tensor::getMixedSize(builder, loc, operand, i)
                                                : OpFoldResult(builder.getIndexAttr(size)));
  return sizes;
}

template <typename OpTy>
static LogicalResult reifyFrom(OpTy op, Value operand, OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  for (Type type : op->getResultTypes())
    shapes.push_back(getMixedSizesOf(builder, op.getLoc(), operand, type));
  return success();
}

LogicalResult AttentionOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyFrom(*this, getQuery(), builder, shapes);
}
LogicalResult MergeOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  return reifyFrom(*this, getOutA(), builder, shapes);
}
LogicalResult RopeOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  return reifyFrom(*this, getInput(), builder, shapes);
}
LogicalResult RmsNormOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  return reifyFrom(*this, getInput(), builder, shapes);
}

#define GET_OP_CLASSES
#include "pagefold/Dialect/Attn/IR/AttnOps.cpp.inc"
