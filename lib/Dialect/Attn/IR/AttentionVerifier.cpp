//===- AttentionVerifier.cpp - the constraints of attn.attention --------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function a concern, one check a constraint; the numbers are those of AttnOps.td.
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"

#include "mlir/IR/Builders.h"
#include "pagefold/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace pagefold::attn;

static constexpr int64_t kMaxGroup = 128;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t AttentionOp::getQueryHeads() { return tensorType(getQuery()).getDimSize(1); }

int64_t AttentionOp::getKVHeads() {
  return getCache() ? getCache().getType().getHeads() : tensorType(getKey()).getDimSize(1);
}

int64_t AttentionOp::getKDim() { return tensorType(getQuery()).getDimSize(2); }

int64_t AttentionOp::getVDim() {
  return getCache() ? getCache().getType().getVDim() : tensorType(getValue()).getDimSize(2);
}

Type AttentionOp::getKVElementType() {
  return getCache() ? getCache().getType().getElementType() : tensorType(getKey()).getElementType();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// C1
static LogicalResult verifySource(AttentionOp op) {
  bool dense = op.getKey() && op.getValue() && op.getKvRows();
  bool anyDense = op.getKey() || op.getValue() || op.getKvRows();
  if (op.getCache() ? anyDense : !dense)
    return op.emitOpError("expects either a cache, or key, value and kv_rows, got ")
           << (op.getCache() ? "a cache with some of the others"
                             : "no cache and not all of the others");
  return success();
}

/// C2: everything but the tokens is static, and results follow from the operands.
static LogicalResult verifyShapes(AttentionOp op) {
  SmallVector<Value> tensors{op.getQuery(), op.getResult()};
  if (op.getKey())
    tensors.append({op.getKey(), op.getValue()});
  for (Value tensor : tensors)
    if (tensorType(tensor).isDynamicDim(1) || tensorType(tensor).isDynamicDim(2))
      return op.emitOpError("expects static heads and head dim, got ") << tensor.getType();
  int64_t tokens = tensorType(op.getQuery()).getDimSize(0);
  ArrayRef<int64_t> result = tensorType(op.getResult()).getShape();
  if (result != ArrayRef<int64_t>{tokens, op.getQueryHeads(), op.getVDim()})
    return op.emitOpError("expects a result with the tokens and heads of the query and ")
           << op.getVDim() << " elements a head, got " << op.getResult().getType();
  if (op.getLse() && tensorType(op.getLse()).getShape() != result.drop_back())
    return op.emitOpError("expects lse with the tokens and heads of the query, got ")
           << op.getLse().getType();
  return success();
}

/// C3
static LogicalResult verifyGroup(AttentionOp op) {
  int64_t heads = op.getQueryHeads(), kvHeads = op.getKVHeads();
  if (op.getKey() && tensorType(op.getValue()).getDimSize(1) != kvHeads)
    return op.emitOpError("expects as many heads of values as of keys, ")
           << kvHeads << ", got " << tensorType(op.getValue()).getDimSize(1);
  if (kvHeads < 1 || heads < 1 || heads % kvHeads)
    return op.emitOpError("expects query heads that are a multiple of the KV heads, got ")
           << heads << " and " << kvHeads;
  if (op.getGroup() > kMaxGroup)
    return op.emitOpError("expects a group (query heads a KV head) of at most ")
           << kMaxGroup << ", got " << op.getGroup();
  return success();
}

/// C4
static LogicalResult verifyHeadDims(AttentionOp op) {
  int64_t keyDim =
      op.getCache() ? op.getCache().getType().getKDim() : tensorType(op.getKey()).getDimSize(2);
  if (op.getKDim() != keyDim)
    return op.emitOpError("expects queries of the keys' head dim ")
           << keyDim << ", got " << op.getKDim();
  for (int64_t dim : {op.getKDim(), op.getVDim()})
    if (!PagedKVType::isHeadDim(dim))
      return op.emitOpError("expects head dims that are multiples of 8 from 8 to 512, got ") << dim;
  return success();
}

/// C5; the query's part of it waits for its prologue to be verified.
static LogicalResult verifyDenseElementTypes(AttentionOp op) {
  if (op.getKey() && op.getKVElementType() != tensorType(op.getValue()).getElementType())
    return op.emitOpError("expects keys and values of one element type, got ")
           << op.getKVElementType() << " and " << tensorType(op.getValue()).getElementType();
  return success();
}

/// C6
static LogicalResult verifyScale(AttentionOp op) {
  if (!op.getScale().isFinite() || op.getScale().isNegative() || op.getScale().isZero())
    return op.emitOpError("expects a finite scale > 0, got ") << op.getScaleAttr();
  return success();
}

/// C7
static LogicalResult verifyMaskBindings(AttentionOp op) {
  if (op.getSymbols().size() != op.getMask().getSymbols().size())
    return op.emitOpError("expects a value for each of the mask's ")
           << op.getMask().getSymbols().size() << " symbols, got " << op.getSymbols().size();
  if (op.getRowValues().size() != op.getMask().getRowValues().size())
    return op.emitOpError("expects a tensor for each of the mask's ")
           << op.getMask().getRowValues().size() << " row values, got " << op.getRowValues().size();
  int64_t tokens = tensorType(op.getQuery()).getDimSize(0);
  for (Value values : op.getRowValues())
    if (!sizesAgree(tensorType(values).getDimSize(0), tokens))
      return op.emitOpError("expects a row value for each of the ")
             << tokens << " tokens, got " << values.getType();
  return success();
}

/// C8
static LogicalResult verifySinks(AttentionOp op) {
  if (op.getSinks() && tensorType(op.getSinks()).getDimSize(0) != op.getQueryHeads())
    return op.emitOpError("expects a sink for each of the ")
           << op.getQueryHeads() << " query heads, got " << op.getSinks().getType();
  return success();
}

/// C9
static LogicalResult verifyBitmap(AttentionOp op) {
  if (!op.getBitmap() != !op.getBitmapStarts())
    return op.emitOpError("expects a bitmap and its starts together, got ")
           << (op.getBitmap() ? "a bitmap" : "starts") << " alone";
  return success();
}

LogicalResult AttentionOp::verify() {
  for (auto check :
       {verifySource, verifyShapes, verifyGroup, verifyHeadDims, verifyDenseElementTypes,
        verifyScale, verifyMaskBindings, verifySinks, verifyBitmap})
    if (failed(check(*this)))
      return failure();
  return success();
}

/// C10 to C13, and C5 for the query.
LogicalResult AttentionOp::verifyRegions() {
  Builder b(getContext());
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (failed(verifyScalarRegion(*this, "score", getScore(), {f32, i32, i32, i32, i32},
                                getScoreCaptures())) ||
      failed(verifyScalarRegion(*this, "epilogue", getEpilogue(), {f32, i32, i32, i32},
                                getEpilogueCaptures())) ||
      failed(verifyPrologue(*this, "query", getQueryPrologue(), tensorType(getQuery()),
                            getQueryCaptures())))
    return failure();
  Type queryType = getPrologueElementType(getQueryPrologue(), tensorType(getQuery()));
  if (queryType != getKVElementType() && !PagedKVType::isScaled(getKVElementType()))
    return emitOpError("expects queries of the keys' element type ")
           << getKVElementType() << ", got " << queryType;
  return success();
}
